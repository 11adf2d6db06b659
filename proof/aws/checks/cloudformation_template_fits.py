"""A template has 1 MB and 500 resources at most, and 51,200 bytes where it is not uploaded to a
bucket first.

sam deploy uploads it. Whoever passes it by hand needs a bucket too: ours is over 51,200 bytes.
"""

import json
from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "AWSCloudFormation/latest/UserGuide/cloudformation-limits.html",
        "Template body: 51,200 bytes in a request, 1 MB in S3; 500 resources.",
    ),
)
_MOST_BYTES, _MOST_RESOURCES = 1_000_000, 500


def findings(deployed: Deployed) -> Iterator[str]:
    size = len(json.dumps(deployed.resources).encode())
    if size > _MOST_BYTES:
        yield f"the resources alone have {size:,} bytes"
    if len(deployed.resources) > _MOST_RESOURCES:
        yield f"{len(deployed.resources)} resources"


def _an_alarm_a_family(deployed: Deployed) -> None:
    alarm = deployed.resources["EventsParkedAlarm"]
    deployed.resources |= {f"Parked{number}Alarm": alarm for number in range(500)}


BROKEN = {"an alarm for each family": _an_alarm_a_family}
