"""Answers and errors of the integrations, as recorded on AWS."""

import json

from proof.asl.services import function_error, function_result


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
