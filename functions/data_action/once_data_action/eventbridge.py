"""Target `eventbridge`: puts each event once on a bus of the user's."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, ReadTimeoutError

from .errors import ActionError, Failed, NotAuthorised, NotConfigured, RateLimited, Rejected
from .request import ActionRequest, Budget, Clock, webhook_text

SOURCE = "genesys-once"
# A rule on SOURCE delivers no canary.
CANARY_SOURCE = "genesys-once.check"

# PutEvents reports success for a bus that does not exist, so the bus is looked up this often.
_FOUND_MS = 60_000
_THROTTLED_SECONDS = 1

# API reference, PutEventsResultEntry and common errors. Any other code is a failure that passes.
_MISSING = "ResourceNotFoundException"
_DENIED = {"AccessDeniedException", "NotAuthorizedForSourceException", "InvalidAccountIdException"}
_INVALID = {
    "InvalidArgument",
    "MalformedDetail",
    "NotAuthorizedForDetailTypeException",
    "RedactionFailure",
    "RequestEntityTooLargeException",
    "ValidationException",
}


@dataclass
class EventBridge:
    """A bus; `own_name` is its name if it belongs to the stack's account and region.

    Of the two clients the second is more impatient, so that both fit into one request's time.
    """

    bus_arn: str
    own_name: str | None
    put: Any
    look_up: Any
    now_ms: Clock
    _found_ms: int = field(default=0, init=False)

    def act(
        self,
        request: ActionRequest,
        headers: dict[str, str],  # noqa: ARG002 — an event on a bus has none
        budget: Budget,
    ) -> int:
        event = request.event
        detail = webhook_text(request)
        subject = event["subject"]
        self._find_bus()
        budget.seconds_for_a_request()
        try:
            answer = self.put.put_events(
                Entries=[
                    {
                        "EventBusName": self.bus_arn,
                        "Source": CANARY_SOURCE if request.is_canary else SOURCE,
                        "DetailType": event["family"],
                        "Detail": detail,
                        "Resources": [f"{subject['type']}/{subject['id']}"],
                        "Time": datetime.fromtimestamp(event["occurredAtMs"] / 1000, UTC),
                    }
                ]
            )
        except ClientError as error:
            raise _error_of(error.response["Error"]["Code"]) from None
        except ReadTimeoutError:
            raise Failed(
                "EventBridge did not answer: the event may be on the bus", repeatable=False
            ) from None
        except BotoCoreError:
            raise Failed("EventBridge was not reached") from None
        (entry,) = answer["Entries"]
        if "ErrorCode" in entry:
            raise _error_of(entry["ErrorCode"])
        return 200

    def _find_bus(self) -> None:
        """Finds the bus, if it is one of this account; of another account's nothing can be told."""
        now_ms = self.now_ms()
        if self.own_name is None or now_ms - self._found_ms < _FOUND_MS:
            return
        try:
            self.look_up.describe_event_bus(Name=self.own_name)
        except (BotoCoreError, ClientError) as error:
            code = error.response["Error"]["Code"] if isinstance(error, ClientError) else ""
            if code == _MISSING:
                raise _error_of(code) from None
        else:
            self._found_ms = now_ms


def _error_of(code: str) -> ActionError:
    said = f"EventBridge did not take the event ({code})"
    if code.startswith("Throttling"):
        return RateLimited(said, retry_after_seconds=_THROTTLED_SECONDS)
    if code == _MISSING:
        return NotConfigured(
            f"{said}: there is no such bus, create it or correct TargetArn", for_all=True
        )
    if code in _DENIED:
        return NotAuthorised(
            f"{said}: check TargetArn, the function's role and the policy of the bus",
            for_all=True,
        )
    if code in _INVALID:
        return Rejected(f"{said}: it may be larger than 1 MB")
    return Failed(said)
