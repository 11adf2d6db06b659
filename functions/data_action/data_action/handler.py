"""The Lambda's entry: wires the target of the environment once, then makes one call at a time."""

import contextlib
import logging
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import boto3
from botocore.config import Config

from . import canary, genesys, mapping, webhook
from .bodies import Bodies
from .breaker import Breaker
from .errors import ActionError, Failed, NotConfigured, TooLate, Transient
from .outbound import Outbound, Reply
from .request import VERSION, ActionRequest, Budget, Context
from .secret import Secret
from .settings import Settings

# At DEBUG botocore writes the secret it was given.
logging.getLogger("botocore").setLevel(logging.INFO)

# Short, for what is left of the function's time is the call's.
_AWS = Config(
    connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2}
)
# A note is worth less than the answer that waits for it.
_NOTES = Config(connect_timeout=0.4, read_timeout=0.4, retries={"total_max_attempts": 1})
_MAPPINGS = Path(__file__).resolve().parents[1]
_OBSERVED = {"version": VERSION, "result": "OBSERVED", "calls": 0}


class Target(Protocol):
    def act(
        self, request: ActionRequest, headers: dict[str, str], budget: Budget
    ) -> Reply | None: ...


class Observer:
    """Target `none`: calls nothing."""

    def act(
        self,
        request: ActionRequest,  # noqa: ARG002
        headers: dict[str, str],  # noqa: ARG002
        budget: Budget,  # noqa: ARG002
    ) -> Reply | None:
        return None


@dataclass(frozen=True)
class DataAction:
    target: Target
    breaker: Breaker | None
    call_ms: int
    now_ms: Callable[[], int]

    def __call__(self, payload: Any, remaining_ms: int) -> dict[str, Any]:
        request = ActionRequest.read(payload)
        if canary.is_canary(request.event):
            canary.answer(request.event, self.now_ms())
            return _OBSERVED
        budget = Budget(request.deadline_ms, self.call_ms, remaining_ms, self.now_ms)
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "genesys-once",
            "Idempotency-Key": request.idempotency_key,
            "X-Once-Execution": re.sub(r"[^!-~]", "?", request.execution)[:256],
        }
        try:
            reply = self.target.act(request, headers, budget)
        except ActionError as error:
            raise self._ended_in(error, request, budget.started_ms) from None
        if reply is None:
            return _OBSERVED
        self._note(request, budget.started_ms, None)
        return {
            "version": VERSION,
            "result": "ACTED",
            "calls": request.retry + 1,
            "status": reply.status,
            "durationMs": reply.duration_ms,
        }

    def _ended_in(
        self, error: ActionError, request: ActionRequest, started_ms: int | None
    ) -> ActionError:
        """The error with all that is known of the calls, of the class that says what may follow."""
        ended_ms = self.now_ms()
        enough_failed = self._note(request, started_ms, error)
        if isinstance(error, Failed) and request.calls_allowed - request.retry > 1:
            again = Transient if not enough_failed else Failed
            error = again(error.sentence, status=error.status)
        if isinstance(error, TooLate) and request.retry:
            error = Failed("the call failed, and no time was left for a second one")
        # Step Functions invokes the function again only after one call was made.
        error.calls = request.retry
        if started_ms is not None:
            error.calls += 1
            error.started_ms, error.ended_ms = started_ms, ended_ms
        return error

    def _note(
        self, request: ActionRequest, started_ms: int | None, error: ActionError | None
    ) -> bool:
        if self.breaker is None or started_ms is None:
            return False
        return self.breaker.note(request, started_ms, error)


def build(settings: Settings) -> DataAction:
    """The wiring of one environment, with all that a first call would otherwise wait for."""

    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    if settings.target == "none":
        return DataAction(Observer(), None, settings.call_ms, now_ms)
    actions = _mapping(settings.mapping) if settings.target == "genesys" else None
    secrets = boto3.client("secretsmanager", config=_AWS)
    bodies = Bodies(settings.overflow_bucket, cache(lambda: boto3.client("s3", config=_AWS)))
    http = Outbound(now_ms)
    target: Target
    if actions is None:
        secret = Secret(settings.secret_arn, webhook.FIELDS, secrets)
        target = webhook.Webhook(settings.webhook_url, secret, bodies, http, now_ms)
    else:
        secret = Secret(settings.secret_arn, genesys.FIELDS, secrets)
        tokens = genesys.Tokens(settings.genesys("login"), secret, http, now_ms)
        target = genesys.Genesys(settings.genesys("api"), tokens, actions, bodies, http)
    breaker = Breaker(settings.claim_table, boto3.client("dynamodb", config=_NOTES), now_ms)
    return DataAction(target, breaker, settings.call_ms, now_ms)


def _mapping(name: str) -> mapping.Mapping:
    try:
        text = (_MAPPINGS / name).read_text("utf-8")
    except (OSError, ValueError):
        raise NotConfigured(
            f"ActionMapping names {name}, and the function has no such file; "
            "put it in functions/data_action and deploy"
        ) from None
    return mapping.read(Path(name).name, text)


_data_action = cache(lambda: build(Settings.read(os.environ)))

# While Lambda starts the function, which has more processor then than later. What is wrong with the
# environment is for each call to say.
with contextlib.suppress(NotConfigured):
    _data_action()


def handler(payload: Any, context: Context) -> dict[str, Any]:
    return _data_action()(payload, context.get_remaining_time_in_millis())
