"""A function has log levels only where its LogFormat is JSON.

With Text, which is the default, Lambda filters nothing: the function is refused, or logs a line
more a call, which is most of what it costs to log.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html",
        "To use log-level filtering, the function must be configured for JSON logs.",
    ),
    page(
        "cdk/api/v2/docs/aws-cdk-lib.aws_lambda.LoggingFormat.html",
        "Only JSON allows another application or system log level.",
    ),
)
_LEVELS = {"SystemLogLevel", "ApplicationLogLevel"}


def findings(deployed: Deployed) -> Iterator[str]:
    for name, function in deployed.of_type("AWS::Lambda::Function").items():
        logging = function.get("LoggingConfig", {})
        if _LEVELS & set(logging) and logging.get("LogFormat") != "JSON":
            yield f"{name} has a log level and logs as {logging.get('LogFormat', 'Text')}"


def _text(deployed: Deployed) -> None:
    deployed.properties("DataActionFunction")["LoggingConfig"]["LogFormat"] = "Text"


BROKEN = {"levels of text": _text}
