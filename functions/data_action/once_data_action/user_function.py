"""Target `lambda`: invokes a function of the user's with the JSON of a webhook, and waits for it.

Invoke reports two kinds of errors. Lambda refuses an invocation with an error code; then the
function did not run. A function that raised, crashed or timed out is a success with
`FunctionError`, whose payload names the error in `errorType`.
(docs.aws.amazon.com/lambda/latest/api/API_Invoke.html and API_ErrorObject.html)
"""

from dataclasses import dataclass
from math import isfinite
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, ReadTimeoutError

from .errors import (
    ActionError,
    Failed,
    NotAuthorised,
    NotConfigured,
    RateLimited,
    Rejected,
)
from .outbound import json_object
from .request import ActionRequest, Budget, encode, webhook_text

_THROTTLED_SECONDS = 2

# Errors that the user's function may raise by name; any other is a failure that may pass. Lambda
# writes the class of an exception (Python), or the name of an error (Node.js) into errorType.
_BY_NAME = {"Transient": Failed} | {kind.__name__: kind for kind in ActionError.__subclasses__()}
# Codes of Invoke that a person must repair, beside any of KMS; of the others 4xx codes that say
# that the request itself cannot be taken.
_DENIED = {"AccessDeniedException", "EC2AccessDeniedException"}
_MISSING = {
    "InvalidParameterValueException",
    "InvalidRuntimeException",
    "InvalidZipFileException",
    "ModeNotSupportedException",
    "NoPublishedVersionException",
    "RecursiveInvocationException",
    "ResourceNotFoundException",
}
_TOO_LARGE = {"RequestTooLargeException", "SerializedRequestEntityTooLargeException"}


@dataclass(frozen=True)
class UserFunction:
    """A function; the client never repeats a request, and ends within the time of one."""

    arn: str
    client: Any

    def act(self, request: ActionRequest, headers: dict[str, str], budget: Budget) -> int:  # noqa: ARG002 - an invocation has no headers
        """Returns 200: the function returned, whatever it returned."""
        payload = encode(webhook_text(request))
        budget.seconds_for_a_request()
        try:
            response = self.client.invoke(FunctionName=self.arn, Payload=payload)
            content = response["Payload"].read()
        except ClientError as error:
            raise _refusal(error) from None
        except ReadTimeoutError:
            # Another invocation now would run beside it.
            raise Failed(
                "the function did not return in time; it may still run", repeatable=False
            ) from None
        except ConnectTimeoutError:
            raise Failed("Lambda was not reached", is_sent=False) from None
        except BotoCoreError:
            raise Failed("the connection to Lambda broke before the function returned") from None
        if "FunctionError" in response:
            raise _error_of(content)
        return int(response["StatusCode"])


def _refusal(error: ClientError) -> ActionError:
    code = error.response["Error"]["Code"]
    said = f"Lambda did not invoke the function ({code})"
    if code == "TooManyRequestsException" or code.startswith("Throttling"):
        # Of the Retry-After header.
        text = str(error.response.get("retryAfterSeconds", ""))
        seconds = int(text) if text.isdecimal() else _THROTTLED_SECONDS
        return RateLimited(said, status=429, retry_after_seconds=max(1, seconds))
    if code in _DENIED or code.startswith("KMS"):
        return NotAuthorised(
            f"{said}: check TargetArn, the role of this function and the policy of yours",
            for_all=True,
        )
    if code in _MISSING:
        return NotConfigured(f"{said}: check TargetArn and the function there", for_all=True)
    if code in _TOO_LARGE:
        return Rejected(f"{said}: the event is larger than 6 MB")
    return Failed(said)


def _error_of(content: bytes) -> ActionError:
    """Reads the error object. Its message may quote a customer: only a number is taken from it."""
    error = json_object(content)
    name = error.get("errorType")
    kind = _BY_NAME.get(name) if isinstance(name, str) else None
    if kind is None:
        return Failed("the function failed or timed out; its own log has the error")
    said = f"the function raised {name}"
    if kind is RateLimited:
        seconds = json_object(error.get("errorMessage")).get("retryAfterSeconds")
        if isinstance(seconds, bool) or not isinstance(seconds, int | float):
            return RateLimited(said)
        return RateLimited(said, retry_after_seconds=seconds if isfinite(seconds) else None)
    return kind(said, repeatable=name != "Failed")
