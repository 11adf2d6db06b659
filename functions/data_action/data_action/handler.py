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

from . import canary, genesys, mapping, metrics, webhook
from .bodies import Bodies
from .errors import ActionError, NotConfigured
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
_MAPPINGS = Path(__file__).resolve().parents[1]
_OBSERVED = {"version": VERSION, "result": "OBSERVED"}


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
        reply = self.target.act(request, headers, budget)
        if reply is None:
            return _OBSERVED
        return {
            "version": VERSION,
            "result": "ACTED",
            "status": reply.status,
            "durationMs": reply.duration_ms,
        }


def build(settings: Settings) -> DataAction:
    """The wiring of one environment, with all that a first call would otherwise wait for."""

    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    if settings.target == "none":
        return DataAction(Observer(), settings.call_ms, now_ms)
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
    return DataAction(target, settings.call_ms, now_ms)


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
    try:
        answer = _data_action()(payload, context.get_remaining_time_in_millis())
    except ActionError as error:
        print(metrics.failed(error, payload))
        raise
    if answer["result"] == "ACTED":
        print(metrics.acted(answer, payload))
    return answer
