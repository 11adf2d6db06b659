"""`once permissions`: the IAM policy that the commands need."""

import json
from typing import Annotated, Any

import typer
from pydantic import Field

from once.answers import answers
from once.operate import log
from once.operate.command import Operation, command
from once.operate.dead_ends import OUTPUTS
from once.operate.model import Answer
from once.operate.stack import Stack

# IAM actions by what they are done to; `*` where AWS knows no narrower resource.
READ: dict[str, tuple[str, ...]] = {
    "stack": ("cloudformation:DescribeStacks",),
    "queues": ("sqs:GetQueueAttributes",),
    "dead ends": ("sqs:ReceiveMessage",),
    "table": ("dynamodb:GetItem", "dynamodb:Query"),
    "logs": ("logs:FilterLogEvents", "logs:StartQuery"),
    "pipe": ("pipes:DescribePipe",),
    "machine": ("states:DescribeStateMachine",),
    "rule": ("events:DescribeRule", "events:ListTargetsByRule"),
    "source": ("events:DescribeEventSource",),
    # Where the rule listens on another bus: what passes events on to it.
    "any rule": ("events:ListTargetsByRule",),
    "*": (
        "cloudwatch:DescribeAlarms",
        "cloudwatch:GetMetricData",
        "events:ListEventSources",
        "events:ListRules",
        "logs:GetQueryResults",
    ),
}
OPERATE: dict[str, tuple[str, ...]] = {
    "event queue": ("sqs:SendMessage",),
    "dead ends": ("sqs:ChangeMessageVisibility", "sqs:DeleteMessage"),
    "table": ("dynamodb:DeleteItem", "dynamodb:UpdateItem"),
    "overflow": ("s3:GetObject",),
    "enrichment": ("lambda:InvokeFunction",),
    "pipe": ("pipes:StartPipe",),
}
_PARTNER = "aws.partner/genesys.com"
_KEY_USE = {"read": ("kms:Decrypt",), "operate": ("kms:Decrypt", "kms:GenerateDataKey")}


class Policy(Answer):
    """The permissions that the commands need."""

    policy: dict[str, Any] = Field(description="As IAM takes it.")


@command("once permissions --operate > policy.json")
@answers(Policy)
def permissions(
    at: Operation,
    operate: Annotated[
        bool, typer.Option("--operate", help="For all commands, not only for the read-only ones.")
    ] = False,
) -> None:
    """Print the IAM policy that the commands need: all, or those that only look."""
    policy = build_policy(at.stack, operate)
    if at.as_json:
        at.answer(Policy(policy=policy), [])
    else:
        # Nothing but the policy, so that it can go into a file.
        typer.echo(json.dumps(policy, indent=2))


def build_policy(stack: Stack, operate: bool) -> dict[str, Any]:
    places = _list_places(stack)
    tables = [READ, OPERATE] if operate else [READ]
    statements = [
        {"Effect": "Allow", "Action": list(actions), "Resource": places[place]}
        for table in tables
        for place, actions in table.items()
        if places[place]
    ]
    for name, use in (("KmsKeyArn", "operate" if operate else "read"), ("FormerKmsKeyArn", "read")):
        if key := stack.parameters.get(name):
            actions = list(_KEY_USE[use])
            statements.append({"Effect": "Allow", "Action": actions, "Resource": [key]})
    return {"Version": "2012-10-17", "Statement": statements}


def _list_places(stack: Stack) -> dict[str, list[str]]:
    partition = stack.outputs["StateMachineArn"].split(":")[1]
    bus, rule = stack.outputs["EventBusName"], stack.outputs["EventRuleName"]

    def arn(service: str, name: str, where: str | None = None) -> str:
        where = f"{stack.region}:{stack.account}" if where is None else where
        return f"arn:{partition}:{service}:{where}:{name}"

    def queue(output: str) -> str:
        return arn("sqs", stack.queue_name(output))

    dead_ends = [queue(output) for output in OUTPUTS.values()]
    return {
        "stack": [arn("cloudformation", f"stack/{stack.name}/*")],
        "queues": [queue("EventQueueUrl"), *dead_ends],
        "event queue": [queue("EventQueueUrl")],
        "dead ends": dead_ends,
        "table": [arn("dynamodb", f"table/{stack.outputs['ClaimTableName']}")],
        # AWS writes the same group with and without the end, by action.
        "logs": [
            arn("logs", f"log-group:{group}{end}")
            for group in (
                stack.outputs["OutcomeLogGroupName"],
                *(stack.outputs[output] for output in log.GROUPS.values()),
            )
            for end in ("", ":*")
        ],
        "pipe": [arn("pipes", f"pipe/{stack.outputs['PipeName']}")],
        "machine": [stack.outputs["StateMachineArn"]],
        "enrichment": [arn("lambda", f"function:{stack.outputs['EnrichmentFunctionName']}")],
        "overflow": [arn("s3", f"{stack.outputs['OverflowBucketName']}/*", ":")],
        "rule": [arn("events", f"rule/{rule}" if bus == "default" else f"rule/{bus}/{rule}")],
        "source": [f"arn:{partition}:events:{stack.region}::event-source/{_PARTNER}*"],
        "any rule": [arn("events", f"rule/{_PARTNER}*")],
        "*": ["*"],
    }
