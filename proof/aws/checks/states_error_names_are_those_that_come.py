"""An error has the name that its integration gives it: an optimised one the class of the Java SDK
v1, an aws-sdk one the class of SDK v2, with a prefix that differs in its capitals.

DynamoDB's own code ThrottlingException comes as DynamoDB.AmazonDynamoDBException, as most codes
do, and DynamoDb.ConditionalCheckFailedException belongs to aws-sdk. A retrier or a Catch that
names what never comes is silently skipped. So ours rest only on names that were recorded or that
AWS documents, and on no States.Runtime, which nothing catches.
"""

from collections.abc import Iterator
from typing import Any

from once_data_action import errors

from proof.aws.check import issue, page, recording
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "step-functions/latest/dg/connect-ddb.html",
        "Exception prefix differences: DynamoDB of the optimised integration, DynamoDb of aws-sdk.",
    ),
    page(
        "step-functions/latest/dg/concepts-error-handling.html",
        "Names are case-sensitive; those of States, Lambda.TooManyRequestsException; "
        "no Retry and no Catch takes States.Runtime.",
    ),
    page(
        "step-functions/latest/dg/sfn-best-practices.html",
        "Lambda.ClientExecutionTimeoutException, ServiceException, AWSLambdaException, "
        "SdkClientException.",
    ),
    recording(
        "error_handling/test_task_service_dynamodb",
        "A ValidationException came as DynamoDB.AmazonDynamoDBException.",
    ),
    recording(
        "error_handling/test_task_service_sqs", "SQS.AmazonSQSException, SdkClientException."
    ),
    recording("error_handling/test_aws_sdk", "DynamoDb.DynamoDbException for what has no class."),
    issue("localstack/localstack/pull/10229", "Over 6 MB: Function.ResponseSizeTooLarge."),
    issue("aws/aws-sdk-java/issues/2222", "A throttled on-demand table: AmazonDynamoDBException."),
)
_STATES = {"ALL", "DataLimitExceeded", "HeartbeatTimeout", "Permissions", "TaskFailed", "Timeout"}
_OF_LAMBDA = {
    "AWSLambdaException",
    "ClientExecutionTimeoutException",
    "SdkClientException",
    "ServiceException",
    "TooManyRequestsException",
    "Unknown",
}
# By integration: its prefix, and what is known to come.
_RAISED: dict[str, tuple[str, set[str]]] = {
    "dynamodb": (
        "DynamoDB",
        {
            "AmazonDynamoDBException",
            "ConditionalCheckFailedException",
            "ResourceNotFoundException",
            "SdkClientException",
        },
    ),
    "lambda": ("Lambda", _OF_LAMBDA),
    "sqs": ("SQS", {"AmazonSQSException", "SdkClientException"}),
    "aws-sdk:cloudwatchlogs": ("CloudWatchLogs", {"CloudWatchLogsException"}),
}
_CALLS_OURS = "RunAction"
# What Lambda says in place of a function's response.
_IN_ITS_PLACE = "Function.ResponseSizeTooLarge"


def findings(deployed: Deployed) -> Iterator[str]:
    for name, state in deployed.states.items():
        come = {f"States.{error}" for error in _STATES}
        if state["Type"] == "Task":
            come |= _raised_by(name, state)
        for kind in ("Retry", "Catch"):
            for rule in state.get(kind, []):
                for error in rule["ErrorEquals"]:
                    if error not in come:
                        yield f"{name}, {kind}: {error} is not known to come from here"


def _raised_by(name: str, task: dict[str, Any]) -> set[str]:
    integration = task["Resource"].split(":::")[1].rpartition(":")[0]
    prefix, known = _RAISED[integration]
    own = {error for error, kind in vars(errors).items() if isinstance(kind, type)}
    own.add(_IN_ITS_PLACE)
    return {f"{prefix}.{error}" for error in known} | (own if name == _CALLS_OURS else set())


def _refusal_named(error: str) -> Any:
    def edit(deployed: Deployed) -> None:
        deployed.states["ClaimKey"]["Catch"][0]["ErrorEquals"] = [error]

    return edit


def _runtime_caught(deployed: Deployed) -> None:
    catch = {"ErrorEquals": ["States.Runtime"], "Next": "ReportBatch"}
    deployed.states["RecordOutcomes"]["Catch"].insert(0, catch)


def _an_error_of_ours_elsewhere(deployed: Deployed) -> None:
    deployed.states["AskPace"]["Catch"].insert(0, {"ErrorEquals": ["Transient"], "Next": "X"})


BROKEN = {
    "the prefix of aws-sdk": _refusal_named("DynamoDb.ConditionalCheckFailedException"),
    "a code of DynamoDB that has no class": _refusal_named("DynamoDB.ThrottlingException"),
    "a name without its service": _refusal_named("ConditionalCheckFailedException"),
    "a Catch of what nothing catches": _runtime_caught,
    "an error of the data action where it is not called": _an_error_of_ours_elsewhere,
}
