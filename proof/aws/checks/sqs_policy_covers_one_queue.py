"""A queue policy covers one queue, and each of its statements names that queue and no other.

CloudFormation's QueuePolicy takes a list of queues and IAM's grammar a list of resources, so
linters and emulators accept both. SQS refuses the statement, when the stack is half created.
"""

from collections.abc import Iterator

from proof.aws.check import Source, issue
from proof.aws.deployed import Deployed

SOURCES = (
    Source(
        "page",
        "http://docs.amazonwebservices.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/"
        "AccessPolicyLanguage_SpecialInfo.html",
        "Each policy must cover only a single queue (API version 2011-10-01; the page is gone).",
    ),
    issue(
        "remind101/stacker_blueprints/pull/71",
        "A statement with the ARNs of several queues had to become several statements.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    covered = []
    for name, policy in deployed.of_type("AWS::SQS::QueuePolicy").items():
        queues = [queue["Ref"] for queue in policy["Queues"]]
        covered += queues
        if len(queues) != 1:
            yield f"{name} covers {len(queues)} queues: give each a policy of its own"
        for statement in policy["PolicyDocument"]["Statement"]:
            if statement["Resource"] not in [{"Fn::GetAtt": [queue, "Arn"]} for queue in queues]:
                yield f"{name}, {statement['Sid']}: Resource is not the ARN of its queue alone"
    for queue in sorted({*deployed.of_type("AWS::SQS::Queue")} ^ {*covered}):
        yield f"{queue} has no policy"


def _two_queues(deployed: Deployed) -> None:
    deployed.properties("ParkingQueuePolicy")["Queues"].append({"Ref": "EventDeadLetters"})


def _two_arns(deployed: Deployed) -> None:
    (statement,) = deployed.properties("ParkingQueuePolicy")["PolicyDocument"]["Statement"]
    other = {"Fn::GetAtt": ["EventDeadLetters", "Arn"]}
    statement["Resource"] = [statement["Resource"], other]


def _another_queue(deployed: Deployed) -> None:
    (statement,) = deployed.properties("ParkingQueuePolicy")["PolicyDocument"]["Statement"]
    statement["Resource"] = {"Fn::GetAtt": ["EventDeadLetters", "Arn"]}


BROKEN = {
    "a policy with two queues": _two_queues,
    "a statement with two ARNs": _two_arns,
    "a statement about another queue": _another_queue,
}
