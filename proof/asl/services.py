"""The responses and errors of the integrations that our definition uses."""

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
REFUSED = Failure(
    "DynamoDB.ConditionalCheckFailedException",
    "The conditional request failed (Service: AmazonDynamoDBv2; Status Code: 400; Error Code: "
    "ConditionalCheckFailedException; Request ID: 0; Proxy: null)",
)


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
