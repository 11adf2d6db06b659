"""A log group of the class Infrequent Access has no embedded metrics, no metric filters, no
subscriptions and no FilterLogEvents, and its class can never be changed.

It costs half. Where the outcomes are logged it would silence every alarm of ours, and blind
`once status`, which filters them.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "AmazonCloudWatch/latest/logs/CloudWatch_Logs_Log_Classes.html",
        "The table of features, and: after a log group is created, its class cannot be changed.",
    ),
)
_STANDARD = "STANDARD"
_NEED_STANDARD = ("AWS::Logs::MetricFilter", "AWS::Logs::SubscriptionFilter")


def findings(deployed: Deployed) -> Iterator[str]:
    given = deployed.properties("StateMachine")["DefinitionSubstitutions"]
    read = {str(given["OutcomeLogGroup"]): "the outcome log, with metrics in its lines"}
    for kind in _NEED_STANDARD:
        for name, properties in deployed.of_type(kind).items():
            read[str(properties["LogGroupName"])] = name
    for name, group in deployed.of_type("AWS::Logs::LogGroup").items():
        reader = read.get(str({"Ref": name}))
        if reader and group.get("LogGroupClass", _STANDARD) != _STANDARD:
            yield f"{name} is {group['LogGroupClass']}, and is {reader}"


def _cheaper_outcomes(deployed: Deployed) -> None:
    deployed.properties("OutcomeLogGroup")["LogGroupClass"] = "INFREQUENT_ACCESS"


BROKEN = {"outcomes in Infrequent Access": _cheaper_outcomes}
