"""The 12 hours that a message can be hidden run from when it was received, not from when the
visibility is set.

ChangeMessageVisibility refuses what ends later; it does not shorten it. We set a return time within
the lease of a batch, so the longest one leaves room for that.
"""

from collections.abc import Iterator

from once_pacing.returns import LONGEST_SECONDS

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html",
        "12 hours from when SQS received the ReceiveMessage request; extending does not reset it.",
    ),
)
_HIDDEN_SECONDS = 12 * 3_600


def findings(deployed: Deployed) -> Iterator[str]:
    latest = int(deployed.filled_in("LeaseSeconds")) + LONGEST_SECONDS
    if latest > _HIDDEN_SECONDS:
        yield f"a return time may end {latest} s after the receive, later than {_HIDDEN_SECONDS} s"


def _longer_lease(deployed: Deployed) -> None:
    given = deployed.properties("StateMachine")["DefinitionSubstitutions"]
    given["LeaseSeconds"] = int(given["LeaseSeconds"]) + _HIDDEN_SECONDS - LONGEST_SECONDS


BROKEN = {"a lease that leaves no room for the longest return time": _longer_lease}
