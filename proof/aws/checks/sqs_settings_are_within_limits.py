"""A queue keeps messages for 14 days, hides them for 12 hours and moves them after 1,000 receives
at most.

CloudFormation's own schema has no bounds for these, so the stack fails when the queue is created.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html",
        "MessageRetentionPeriod 60 to 1,209,600, VisibilityTimeout 0 to 43,200 seconds.",
    ),
    page(
        "AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html",
        "maxReceiveCount from 1 to 1,000.",
    ),
)
_BOUNDS = {
    "MessageRetentionPeriod": (60, 1_209_600),
    "VisibilityTimeout": (0, 43_200),
    "maxReceiveCount": (1, 1_000),
}


def findings(deployed: Deployed) -> Iterator[str]:
    for name, queue in deployed.of_type("AWS::SQS::Queue").items():
        settings = {**queue, **queue.get("RedrivePolicy", {})}
        for setting, (least, most) in _BOUNDS.items():
            if not least <= int(settings.get(setting, least)) <= most:
                yield f"{name}: {setting} is {settings[setting]}, not from {least} to {most}"


def _received_more_often(deployed: Deployed) -> None:
    deployed.properties("EventQueue")["RedrivePolicy"]["maxReceiveCount"] = 1_001


def _kept_longer(deployed: Deployed) -> None:
    deployed.properties("ParkingQueue")["MessageRetentionPeriod"] = 15 * 86_400


BROKEN = {"received 1,001 times": _received_more_often, "kept for 15 days": _kept_longer}
