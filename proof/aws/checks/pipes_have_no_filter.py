"""A pipe deletes what its filter does not match from the queue, without a word.

A body that is no JSON where the pattern expects some does not match either, and would never be
parked. Replayed events and canaries come by the queue too. Unwanted events are left out by the rule
(EventFilter), or by a route, with a record.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "eventbridge/latest/userguide/eb-pipes-event-filtering.html",
        "Messages of an SQS queue that do not match are removed from the queue.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    for name, pipe in deployed.of_type("AWS::Pipes::Pipe").items():
        if "FilterCriteria" in pipe["SourceParameters"]:
            yield f"{name} has FilterCriteria, which delete what they do not match"


def _filtered(deployed: Deployed) -> None:
    pattern = '{"body": {"detail-type": ["v2.users.{id}.presence"]}}'
    source = deployed.properties("Pipe")["SourceParameters"]
    source["FilterCriteria"] = {"Filters": [{"Pattern": pattern}]}


BROKEN = {"a filter": _filtered}
