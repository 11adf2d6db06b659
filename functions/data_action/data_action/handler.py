"""The Lambda's entry: wires the target of the environment once, then makes one call at a time."""

import logging
import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import boto3
from botocore.config import Config

from . import canary, genesys, mapping, metrics, webhook
from .bodies import Bodies
from .errors import ActionError, NotConfigured
from .outbound import Outbound, Reply
from .request import VERSION, ActionRequest, Budget, Context
from .secret import Secret

# At DEBUG botocore writes the secret it was given, and urllib3 the path of a webhook.
for _library in ("botocore", "urllib3"):
    logging.getLogger(_library).setLevel(logging.INFO)

_GENESYS_HOST = re.compile(
    r"mypurecloud\.(com|ie|com\.au|jp|de)|[a-z0-9]+\.pure\.cloud|[a-z0-9]+\.us-gov-pure\.cloud"
)
_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|localhost)(:\d{1,5})?")
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
    now_ms: Callable[[], int]

    def __call__(self, payload: Any, remaining_ms: int) -> dict[str, Any]:
        request = ActionRequest.read(payload)
        if request.event["family"] == canary.FAMILY:
            canary.answer(request.event, self.now_ms())
            return _OBSERVED
        budget = Budget(request.deadline_ms, remaining_ms, self.now_ms)
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


def build(environment: Mapping[str, str]) -> DataAction:
    """The wiring of one environment; NotConfigured where a setting is missing or wrong."""

    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    target = environment.get("ACTION_TARGET", "none")
    if target == "none":
        return DataAction(Observer(), now_ms)
    if target not in ("webhook", "genesys"):
        raise NotConfigured("ActionTarget is not none, webhook or genesys")

    arn = environment.get("DESTINATION_SECRET_ARN", "")
    if not arn:
        raise NotConfigured(f"the target {target} wants DestinationSecretArn")
    aws = Config(connect_timeout=2, read_timeout=3, retries={"mode": "standard"})
    bodies = Bodies(
        environment.get("OVERFLOW_BUCKET", ""), cache(lambda: boto3.client("s3", config=aws))
    )
    secrets = boto3.client("secretsmanager", config=aws)
    http = Outbound(now_ms)
    if target == "webhook":
        url = environment.get("WEBHOOK_URL", "")
        _check_url(url)
        secret = Secret(arn, webhook.FIELDS, secrets)
        return DataAction(webhook.Webhook(url, secret, bodies, http, now_ms), now_ms)

    login, api = _genesys_addresses(environment.get("GENESYS_HOST", ""))
    name = environment.get("ACTION_MAPPING", "actions.toml")
    try:
        text = (_MAPPINGS / name).read_text("utf-8")
    except (OSError, ValueError):
        raise NotConfigured(
            f"ActionMapping names {name}, and the function has no such file; "
            "put it in functions/data_action and deploy"
        ) from None
    actions = mapping.read(Path(name).name, text)
    tokens = genesys.Tokens(login, Secret(arn, genesys.FIELDS, secrets), http, now_ms)
    return DataAction(genesys.Genesys(api, tokens, actions, bodies, http), now_ms)


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        loopback = _LOOPBACK.fullmatch(f"{parts.scheme}://{parts.netloc}")
    except ValueError:
        raise NotConfigured("WebhookUrl is not an address") from None
    if not parts.hostname or (parts.scheme != "https" and not loopback):
        raise NotConfigured("WebhookUrl is not an https:// address (http only on this machine)")
    if "@" in parts.netloc:
        raise NotConfigured("WebhookUrl must not hold a password: requests are signed instead")


def _genesys_addresses(host: str) -> tuple[str, str]:
    if _LOOPBACK.fullmatch(host):
        return host, host
    if not _GENESYS_HOST.fullmatch(host):
        raise NotConfigured(
            "GenesysHost is not a region's host such as mypurecloud.de or usw2.pure.cloud"
        )
    return f"https://login.{host}", f"https://api.{host}"


_data_action = cache(lambda: build(os.environ))


def handler(payload: Any, context: Context) -> dict[str, Any]:
    try:
        answer = _data_action()(payload, context.get_remaining_time_in_millis())
    except ActionError as error:
        print(metrics.failed(error, payload))
        raise
    if answer["result"] == "ACTED":
        print(metrics.acted(answer, payload))
    return answer
