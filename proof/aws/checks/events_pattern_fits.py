"""An event pattern has 2,048 characters at most.

A list of topics can be longer. The rule is created late, after the queues and their policies, and
then the whole stack rolls back.
"""

import json
from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page("eventbridge/latest/userguide/eb-quota.html", "Event pattern size: 2,048 characters."),
)
_MOST = 2_048


def characters(deployed: Deployed) -> int:
    """Of the longest pattern, as JSON without blanks."""
    rules = deployed.of_type("AWS::Events::Rule").values()
    return max(len(json.dumps(rule["EventPattern"], separators=(",", ":"))) for rule in rules)


def findings(deployed: Deployed) -> Iterator[str]:
    if (found := characters(deployed)) > _MOST:
        yield f"the pattern has {found} characters, more than {_MOST}"


def _many_topics(deployed: Deployed) -> None:
    pattern = deployed.properties("EventRule")["EventPattern"]
    pattern["detail-type"] = [f"v2.users.{{id}}.presence.{number}" for number in range(100)]


BROKEN = {"a hundred topics": _many_topics}
