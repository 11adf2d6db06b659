"""EventBridge sends to a queue only where the queue's own policy lets the rule in; what it may not
send is not tried again.

No role of the rule's helps. So each queue that a rule sends to allows it, and the rule depends on
those policies: between the rule and its permission every event would be lost.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "eventbridge/latest/userguide/eb-use-resource-based.html",
        "For SQS, EventBridge relies on resource-based policies.",
    ),
    page(
        "eventbridge/latest/userguide/eb-rule-dlq.html",
        "Errors such as missing permissions are not retried but sent to the dead-letter queue, "
        "which needs a policy as well.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    allowing = {
        policy["Queues"][0]["Ref"]: name
        for name, policy in deployed.of_type("AWS::SQS::QueuePolicy").items()
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
        and statement["Principal"] == {"Service": "events.amazonaws.com"}
        and "aws:SourceArn" in statement.get("Condition", {}).get("ArnLike", {})
    }
    for name, rule in deployed.of_type("AWS::Events::Rule").items():
        waits_for = deployed.resources[name].get("DependsOn", [])
        for target in rule["Targets"]:
            for arn in (target["Arn"], target["DeadLetterConfig"]["Arn"]):
                queue = arn["Fn::GetAtt"][0]
                if queue not in allowing:
                    yield f"{queue} does not let {name} in"
                elif allowing[queue] not in waits_for:
                    yield f"{name} may be there before {allowing[queue]}"


def _no_order(deployed: Deployed) -> None:
    deployed.resources["EventRule"]["DependsOn"].remove("EventQueuePolicy")


def _dead_letters_closed(deployed: Deployed) -> None:
    statements = deployed.properties("RuleDeadLettersPolicy")["PolicyDocument"]["Statement"]
    del statements[0]


BROKEN = {
    "a rule that does not wait for the policy": _no_order,
    "dead letters that do not let the rule in": _dead_letters_closed,
}
