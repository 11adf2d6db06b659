"""The responses and error names of the integrations that our definition uses."""

import json
from typing import Any

from proof.asl.errors import Failure

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

REFUSED = "The conditional request failed (Service: AmazonDynamoDBv2; Status Code: 400; Error Code: ConditionalCheckFailedException; Request ID: 0; Proxy: null)"  # noqa: E501

REFUSED = "The conditional request failed (Service: AmazonDynamoDBv2; Status Code: 400; Error Code: ConditionalCheckFailedException; Request ID: 0; Proxy: null)"  # noqa: E501

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
