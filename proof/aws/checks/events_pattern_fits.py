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
    """Returns the length of the longest pattern, as JSON without blanks."""
    rules = deployed.of_type("AWS::Events::Rule").values()
    patterns = [rule["EventPattern"] for rule in rules]  # as text with EventFilter
    return max(
        len(one if isinstance(one, str) else json.dumps(one, separators=(",", ":")))
        for one in patterns
    )


def findings(deployed: Deployed) -> Iterator[str]:
    if (found := characters(deployed)) > _MOST:
        yield f"the pattern has {found} characters, more than {_MOST}"


def _many_topics(deployed: Deployed) -> None:
    pattern = deployed.properties("EventRule")["EventPattern"]
    pattern["detail-type"] = [f"v2.users.{{id}}.presence.{number}" for number in range(100)]


BROKEN = {"a hundred topics": _many_topics}
