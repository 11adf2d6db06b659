"""Answers and errors of the integrations, as recorded on AWS."""

import json

import pytest

from proof.asl.readings import ErrorNames
from proof.asl.services import error_name, function_error, function_result


@pytest.mark.parametrize(
    ("coded", "seen"),
    [
        # Recorded in error_handling/test_task_service_dynamodb.
        ("DynamoDB.ResourceNotFoundException", "DynamoDB.ResourceNotFoundException"),
        ("DynamoDB.ValidationException", "DynamoDB.AmazonDynamoDBException"),
        # connect-ddb.html, "Exception prefix differences".
        ("DynamoDB.ConditionalCheckFailedException", "DynamoDB.ConditionalCheckFailedException"),
        # https://github.com/aws/aws-sdk-java/issues/2222 and 1881.
        ("DynamoDB.ThrottlingException", "DynamoDB.AmazonDynamoDBException"),
        ("DynamoDB.InternalServerError", "DynamoDB.InternalServerErrorException"),
        ("DynamoDB.RequestLimitExceeded", "DynamoDB.RequestLimitExceededException"),
        # Recorded in error_handling/test_task_service_sqs.
        ("SQS.MissingParameter", "SQS.AmazonSQSException"),
        ("SQS.SdkClientException", "SQS.SdkClientException"),
        # sfn-best-practices.html and, for the last, error_handling/test_task_service_lambda.
        ("Lambda.TooManyRequestsException", "Lambda.TooManyRequestsException"),
        ("Lambda.ServiceException", "Lambda.ServiceException"),
        ("Lambda.ClientExecutionTimeoutException", "Lambda.ClientExecutionTimeoutException"),
        ("Lambda.ResourceNotFoundException", "Lambda.ResourceNotFoundException"),
        # Recorded in error_handling/test_aws_sdk.
        ("DynamoDb.ResourceNotFoundException", "DynamoDb.ResourceNotFoundException"),
        ("DynamoDb.ValidationException", "DynamoDb.DynamoDbException"),
        # By the same rule.
        ("DynamoDb.InternalServerError", "DynamoDb.InternalServerErrorException"),
        (
            "CloudWatchLogs.ServiceUnavailableException",
            "CloudWatchLogs.ServiceUnavailableException",
        ),
        ("CloudWatchLogs.InternalFailure", "CloudWatchLogs.CloudWatchLogsException"),
        ("Sqs.SdkClientException", "Sqs.SdkClientException"),
        ("States.Timeout", "States.Timeout"),
        ("Transient", "Transient"),
    ],
)
def test_errors_go_by_their_class_in_the_java_sdk(coded: str, seen: str) -> None:
    assert error_name(coded, ErrorNames.CLASSES) == seen
    assert error_name(coded, ErrorNames.CODES) == coded


def test_a_function_answers_with_its_payload_as_json() -> None:
    """Recorded in services/test_lambda_task_service (test_invoke)."""
    result = function_result({"n": 1})
    assert (result["Payload"], result["StatusCode"]) == ({"n": 1}, 200)
    assert {"ExecutedVersion", "SdkHttpMetadata", "SdkResponseMetadata"} < result.keys()


def test_an_error_of_a_function_goes_by_its_class() -> None:
    """Recorded in error_handling/test_task_service_lambda (test_raise_custom_exception)."""
    failure = function_error("CustomException", "why")
    assert failure.error == "CustomException"
    assert json.loads(failure.cause)["errorMessage"] == "why"
