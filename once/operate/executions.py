"""Links to executions in the Step Functions console."""

import json
from collections.abc import Collection

from once.operate.log import insights
from once.operate.stack import Stack

_MOST = 20


def links(stack: Stack, runs: Collection[str], since_ms: int) -> dict[str, str]:
    """By the last segment of an execution's id, which is all that a claim keeps of it.

    Only the machine's log knows the whole; with LogLevel ERROR or OFF, or an embedded stack, it
    does not, and there is no link.
    """
    if stack.embedded or not runs:
        return {}
    described = stack.client("stepfunctions").describe_state_machine(
        stateMachineArn=stack.outputs["StateMachineArn"]
    )
    destinations = described.get("loggingConfiguration", {}).get("destinations", [])
    if not destinations:
        return {}
    group = destinations[0]["cloudWatchLogsLogGroup"]["logGroupArn"].split(":")[6]
    pattern = "|".join(sorted(runs)[-_MOST:])
    found = {}
    for at_ms, line in insights(stack, group, since_ms, "ExecutionStarted", pattern):
        arn = json.loads(line)["execution_arn"]
        found[arn.rpartition(":")[2]] = (
            f"https://{stack.region}.console.aws.amazon.com/states/home?region={stack.region}"
            f"#/express-executions/details/{arn}?startDate={at_ms}"
        )
    return found
