"""With a batching window the pipe's poller replaces the queue's visibility timeout by 450 seconds
and the window; without one the queue's own holds.

Whichever holds, a message must come back only after the lease of its last holder has ended, or it
finds its claim in progress each time. A window costs nothing then but slower retries.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "eventbridge/latest/userguide/eb-pipes-error-troubleshooting.html",
        "Function timeout, for pipes 7 minutes, and the window and 30 seconds.",
    ),
)
_POLLERS_SECONDS = 7 * 60 + 30


def findings(deployed: Deployed) -> Iterator[str]:
    lease = int(deployed.filled_in("LeaseSeconds"))
    for name, pipe in deployed.of_type("AWS::Pipes::Pipe").items():
        queue = deployed.properties(pipe["Source"]["Fn::GetAtt"][0])
        window = pipe["SourceParameters"]["SqsQueueParameters"].get(
            "MaximumBatchingWindowInSeconds", 0
        )
        hidden = _POLLERS_SECONDS + int(window) if window else int(queue["VisibilityTimeout"])
        enrichment = int(deployed.properties(pipe["Enrichment"]["Fn::GetAtt"][0])["Timeout"])
        if hidden <= enrichment + lease:
            yield (
                f"{name}: a message is hidden for {hidden} s, and its claim may be held for "
                f"{enrichment + lease} s"
            )


def _too_short(deployed: Deployed) -> None:
    deployed.properties("EventQueue")["VisibilityTimeout"] = 30


def _replaced_by_the_window(deployed: Deployed) -> None:
    """The queue's own would do, and is not what holds."""
    deployed.properties("EventQueue")["VisibilityTimeout"] = 3_600
    source = deployed.properties("Pipe")["SourceParameters"]["SqsQueueParameters"]
    source["MaximumBatchingWindowInSeconds"] = 5
    deployed.properties("StateMachine")["DefinitionSubstitutions"]["LeaseSeconds"] = 450


BROKEN = {
    "SQS's default": _too_short,
    "a window that replaces the queue's hour": _replaced_by_the_window,
}
