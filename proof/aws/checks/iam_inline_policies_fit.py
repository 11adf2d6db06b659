"""The inline policies of a role have 10,240 characters together, blanks not counted.

A right a resource adds up; the role is refused when it is created, and with it all that needs it.
"""

import json
from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "IAM/latest/UserGuide/reference_iam-quotas.html",
        "Role inline policies: 10,240 characters in all; IAM does not count white space.",
    ),
)
_MOST = 10_240
_LONGEST_ARN = 200  # of a name that only AWS knows


def findings(deployed: Deployed) -> Iterator[str]:
    for name, role in deployed.of_type("AWS::IAM::Role").items():
        documents = [policy["PolicyDocument"] for policy in role.get("Policies", [])]
        text = json.dumps(documents, separators=(",", ":"))
        size = len(text) + _LONGEST_ARN * (text.count('"Fn::') + text.count('"Ref"'))
        if size > _MOST:
            yield f"{name} has inline policies of about {size:,} characters"


def _a_statement_a_family(deployed: Deployed) -> None:
    document = deployed.properties("DataActionRole")["Policies"][0]["PolicyDocument"]
    document["Statement"] *= 40


BROKEN = {"a statement for each family": _a_statement_a_family}
