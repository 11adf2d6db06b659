"""A pipe's execution, enrichment and target together, takes five minutes at most.

It then gives the batch up while the machine may still act. So both together end sooner, by their
own limits.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "eventbridge/latest/userguide/eb-pipes-batching-concurrency.html",
        "At most 5 minutes, including the enrichment and target; the limit cannot be raised.",
    ),
)
_MOST_SECONDS = 300


def findings(deployed: Deployed) -> Iterator[str]:
    for name, pipe in deployed.of_type("AWS::Pipes::Pipe").items():
        enrichment = deployed.properties(pipe["Enrichment"]["Fn::GetAtt"][0])["Timeout"]
        together = int(enrichment) + int(deployed.definition.get("TimeoutSeconds", _MOST_SECONDS))
        if together >= _MOST_SECONDS:
            yield f"{name} may take {together} s, and is given up after {_MOST_SECONDS}"


def _slow_enrichment(deployed: Deployed) -> None:
    deployed.properties("EnrichmentFunction")["Timeout"] = 60


def _no_limit(deployed: Deployed) -> None:
    del deployed.definition["TimeoutSeconds"]


BROKEN = {"an enrichment of a minute": _slow_enrichment, "a machine without a limit": _no_limit}
