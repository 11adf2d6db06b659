"""The Lambda's entry: wires the target of the environment, then handles one event at a time."""

import contextlib
import logging
import os
import re
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import boto3
from botocore.config import Config

from . import canary, eventbridge, genesys, webhook
from .bodies import Bodies
from .breaker import Breaker
from .errors import ActionError, Failed, NotConfigured, Paused, TooLate, Transient
from .outbound import Outbound, Reply
from .request import VERSION, ActionRequest, Budget, Context
from .secret import REMEMBERED_MS, Secret
from .settings import Settings

# At DEBUG botocore writes the secret it was given.
logging.getLogger("botocore").setLevel(logging.INFO)

# Short, since the request needs what is left of the function's time.
_AWS = Config(
    connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2}
)
# A note is worth less than the answer that waits for it.
_NOTES = Config(connect_timeout=0.4, read_timeout=0.4, retries={"total_max_attempts": 1})
_OBSERVED = {"version": VERSION, "result": "OBSERVED", "requests": 0}


class Target(Protocol):
    sees_canaries: bool

    def act(
        self, request: ActionRequest, headers: dict[str, str], budget: Budget
    ) -> Reply | None: ...


class Observer:
    """Target `none`: sends nothing."""

    sees_canaries = False

    def act(
        self,
        request: ActionRequest,  # noqa: ARG002 - nothing is sent
        headers: dict[str, str],  # noqa: ARG002 - nothing is sent
        budget: Budget,  # noqa: ARG002 - nothing is sent
    ) -> Reply | None:
        return None


@dataclass(frozen=True)
class Refusal:
    """A refusal that any event would have met at that time."""

    error: ActionError
    at_ms: int


@dataclass
class DataAction:
    target: Target
    breaker: Breaker | None
    request_ms: int
    now_ms: Callable[[], int]
    _refusal: Refusal | None = field(default=None, init=False)

    def __call__(self, payload: Any, remaining_ms: int) -> dict[str, Any]:
        request = ActionRequest.read(payload)
        if canary.is_canary(request.event):
            canary.answer(request.event, self.now_ms())
            if not self.target.sees_canaries:
                return _OBSERVED
        budget = Budget(request.deadline_ms, self.request_ms, remaining_ms, self.now_ms)
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "genesys-once",
            "Idempotency-Key": request.idempotency_key,
            "X-Once-Execution": re.sub(r"[^!-~]", "?", request.execution)[:256],
        }
        try:
            if self.breaker:
                request = self.breaker.refresh(request)
            reply = self._act(request, headers, budget)
        except ActionError as error:
            raise self._complete(error, request, budget.started_ms) from None
        if reply is None:
            return _OBSERVED
        self._note(request, budget.started_ms, None)
        return {
            "version": VERSION,
            "result": "ACTED",
            "requests": request.retry + 1,
            "status": reply.status,
            "durationMs": reply.duration_ms,
        }

    def _act(self, request: ActionRequest, headers: dict[str, str], budget: Budget) -> Reply | None:
        """Asks the target, unless it refused all events a moment ago; a probe asks again."""
        refusal, now_ms = self._refusal, self.now_ms()
        if refusal and now_ms - refusal.at_ms < REMEMBERED_MS and not request.pace.probe_ms:
            raise copy(refusal.error)
        try:
            return self.target.act(request, headers, budget)
        except ActionError as error:
            if error.for_all:
                self._refusal = Refusal(copy(error), now_ms)
            raise

    def _complete(
        self, error: ActionError, request: ActionRequest, started_ms: int | None
    ) -> ActionError:
        """Adds what is known of the requests, and picks the class that says what may follow."""
        ended_ms = self.now_ms()
        since_ms = self._refusal.at_ms if self._refusal and error.for_all else started_ms
        enough_failed = self._note(request, since_ms, error)
        if isinstance(error, Failed) and request.requests_allowed - request.retry > 1:
            again = Transient if not enough_failed else Failed
            error = again(error.sentence, status=error.status)
        if isinstance(error, TooLate | Paused) and request.retry:
            error = Failed(f"the request failed; then {error.sentence}")
        # Step Functions invokes the function again only after one request was made.
        error.requests = request.retry
        if started_ms is not None:
            error.requests += 1
            error.ended_ms, error.duration_ms = ended_ms, ended_ms - started_ms
        return error

    def _note(
        self, request: ActionRequest, started_ms: int | None, error: ActionError | None
    ) -> bool:
        if self.breaker is None or started_ms is None:
            return False
        return self.breaker.note(request, started_ms, error)


def build(settings: Settings) -> DataAction:
    """Wires one environment, with all that a first request would otherwise wait for."""

    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    if settings.target == "none":
        return DataAction(Observer(), None, settings.request_ms, now_ms)
    breaker = Breaker(settings.claim_table, boto3.client("dynamodb", config=_NOTES), now_ms)
    bodies = Bodies(settings.overflow_bucket, cache(lambda: boto3.client("s3", config=_AWS)))
    return DataAction(_target(settings, bodies, now_ms), breaker, settings.request_ms, now_ms)


def _target(settings: Settings, bodies: Bodies, now_ms: Callable[[], int]) -> Target:
    if settings.target == "eventbridge":
        arn = settings.target_bus_arn
        # Never repeats a request by itself, and ends within the time of one.
        once = _NOTES.merge(Config(connect_timeout=1, read_timeout=settings.request_ms / 1000 - 1))
        put, look_up = (
            boto3.client("events", region_name=arn.split(":")[3], config=config)
            for config in (once, _NOTES)
        )
        return eventbridge.EventBridge(arn, settings.own_bus, bodies, put, look_up, now_ms)
    secrets = boto3.client("secretsmanager", config=_AWS)
    http = Outbound(now_ms)
    if settings.target == "webhook":
        secret = Secret(settings.secret_arn, webhook.FIELDS, secrets, now_ms)
        return webhook.Webhook(settings.webhook_url, secret, bodies, http, now_ms)
    secret = Secret(settings.secret_arn, genesys.FIELDS, secrets, now_ms)
    tokens = genesys.Tokens(settings.genesys("login"), secret, http, now_ms)
    return genesys.Genesys(settings.genesys("api"), tokens, bodies, http)


_data_action = cache(lambda: build(Settings.read(os.environ)))

# Lambda gives a function more processor while it starts. Each invocation says what is wrong with
# the environment.
with contextlib.suppress(NotConfigured):
    _data_action()


def handler(payload: Any, context: Context) -> dict[str, Any]:
    return _data_action()(payload, context.get_remaining_time_in_millis())
