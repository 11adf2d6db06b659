"""The responses and error names of the integrations that our definition uses."""

import json
from functools import cache
from typing import Any

import botocore.session

from proof.asl.errors import Failure
from proof.asl.readings import ErrorNames

Json = Any

# In the recorded answers of services/test_dynamodb_task_service, _sqs_ and _lambda_ of 2025.
_METADATA = {
    "SdkHttpMetadata": {
        "AllHttpHeaders": {"Content-Type": ["application/json"]},
        "HttpHeaders": {"Content-Type": "application/json"},
        "HttpStatusCode": 200,
    },
    "SdkResponseMetadata": {"RequestId": "00000000-0000-0000-0000-000000000000"},
}
_REFUSED = "The conditional request failed (Service: AmazonDynamoDBv2; Status Code: 400; Error Code: ConditionalCheckFailedException; Request ID: 0; Proxy: null)"  # noqa: E501

# Errors for which the Java SDK v1 has a class. All others of a service are of its general class:
# recorded for DynamoDB's ValidationException and SQS's MissingParameter, and for an on-demand
# table's ThrottlingException in https://github.com/aws/aws-sdk-java/issues/2222.
_CLASSES = {
    "DynamoDB.ConditionalCheckFailedException": "ConditionalCheckFailedException",
    "DynamoDB.ProvisionedThroughputExceededException": "ProvisionedThroughputExceededException",
    "DynamoDB.RequestLimitExceeded": "RequestLimitExceededException",
    "DynamoDB.InternalServerError": "InternalServerErrorException",
    "DynamoDB.ResourceNotFoundException": "ResourceNotFoundException",
    "Lambda.ResourceNotFoundException": "ResourceNotFoundException",
    "Lambda.ServiceException": "ServiceException",
    "Lambda.TooManyRequestsException": "TooManyRequestsException",
}
_GENERAL = {
    "DynamoDB": "AmazonDynamoDBException",
    "SQS": "AmazonSQSException",
    "Lambda": "AWSLambdaException",
}
# What boto calls a service whose aws-sdk integration we use: SDK v2 has a class for each modelled
# error, and a general one for the rest (recorded in error_handling/test_aws_sdk).
_SDK_V2 = {"DynamoDb": "dynamodb", "Sqs": "sqs", "CloudWatchLogs": "logs"}
# A connection that broke, and what Step Functions itself could not do.
_NOBODYS = {"SdkClientException", "ClientExecutionTimeoutException", *_GENERAL.values()}

REFUSED = Failure("DynamoDB.ConditionalCheckFailedException", _REFUSED)


def error_name(coded: str, names: ErrorNames) -> str:
    """Returns the name under which an execution sees the error `coded` of a service.

    The prefix is that of the integration: DynamoDB of the optimised, DynamoDb of aws-sdk
    (connect-ddb.html, "Exception prefix differences").
    """
    service, _, code = coded.partition(".")
    if names is ErrorNames.CODES or code in _NOBODYS:
        return coded
    if service in _SDK_V2:
        return f"{service}.{_class(code) if code in _modelled(service) else service + 'Exception'}"
    if service not in _GENERAL or code in _CLASSES.values():
        return coded
    return f"{service}.{_CLASSES.get(coded, _GENERAL[service])}"


@cache
def _modelled(service: str) -> frozenset[str]:
    model = botocore.session.get_session().get_service_model(_SDK_V2[service])
    shapes = (model.shape_for(name) for name in model.shape_names)
    return frozenset(shape.name for shape in shapes if shape.metadata.get("exception"))


def _class(code: str) -> str:
    return code if code.endswith("Exception") else f"{code}Exception"


def result(answer: Json) -> Json:
    """An optimised integration's result: its service's answer with the SDK's metadata."""
    return {**answer, **_METADATA}


def function_result(payload: Json) -> Json:
    """Recorded in services/test_lambda_task_service: the payload is JSON, not text."""
    return result({"ExecutedVersion": "$LATEST", "Payload": payload, "StatusCode": 200})


def function_error(name: str, message: str) -> Failure:
    """Recorded in error_handling/test_task_service_lambda: the error goes by its class alone, and
    its cause is what the runtime answered, as text."""
    cause = {"errorMessage": message, "errorType": name, "requestId": "0", "stackTrace": []}
    return Failure(name, json.dumps(cause))
