"""To log its executions a machine's role may create log deliveries, which SAM does not add, and its
log group is under /aws/vendedlogs/.

Without the rights the creation fails late. A log group of another name takes its part of the 5,120
characters of resource policies that all log deliveries of a Region share; when they are used up, no
machine and no pipe with logs can be created.
"""

from collections.abc import Iterator

from proof.aws.check import issue, page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "step-functions/latest/dg/cw-logs.html",
        "The actions of log delivery, on *; the prefix /aws/vendedlogs/ against the limit of 5,120 "
        "characters.",
    ),
    issue(
        "aws/serverless-application-model/issues/1610",
        "Logging of a state machine adds no policy for it.",
    ),
)
NEEDED = {
    "logs:CreateLogDelivery",
    "logs:GetLogDelivery",
    "logs:UpdateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:DescribeResourcePolicies",
    "logs:DescribeLogGroups",
}
_PREFIX = "/aws/vendedlogs/"


def findings(deployed: Deployed) -> Iterator[str]:
    for name, machine in deployed.of_type("AWS::StepFunctions::StateMachine").items():
        allowed = {
            action
            for policy in deployed.properties(machine["RoleArn"]["Fn::GetAtt"][0])["Policies"]
            for statement in policy["PolicyDocument"]["Statement"]
            if statement["Resource"] == "*"
            for action in statement["Action"]
        }
        if "LoggingConfiguration" in machine:
            for action in sorted(NEEDED - allowed):
                yield f"{name} may not {action}"
    for group in _delivered_to(deployed):
        called = deployed.properties(group).get("LogGroupName", "")
        if not called.startswith(_PREFIX):
            yield f"{group} is called {called!r}, not {_PREFIX}…"


def _delivered_to(deployed: Deployed) -> Iterator[str]:
    for machine in deployed.of_type("AWS::StepFunctions::StateMachine").values():
        for destination in machine.get("LoggingConfiguration", {}).get("Destinations", []):
            yield destination["CloudWatchLogsLogGroup"]["LogGroupArn"]["Fn::GetAtt"][0]
    for pipe in deployed.of_type("AWS::Pipes::Pipe").values():
        destination = pipe.get("LogConfiguration", {}).get("CloudwatchLogsLogDestination")
        if destination:
            yield destination["LogGroupArn"]["Fn::GetAtt"][0]


def _not_allowed(deployed: Deployed) -> None:
    for policy in deployed.properties("StateMachineRole")["Policies"]:
        statements = policy["PolicyDocument"]["Statement"]
        statements[:] = [entry for entry in statements if entry["Resource"] != "*"]


def _named_by_chance(deployed: Deployed) -> None:
    del deployed.properties("PipeLogGroup")["LogGroupName"]


BROKEN = {"no right to log": _not_allowed, "a log group without its prefix": _named_by_chance}
