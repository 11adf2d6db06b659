"""The Lambda's entry: reads the environment, wires its target, then drives one event at a time."""

import contextlib
import logging
import os
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, Protocol, cast, get_args
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from . import eventbridge, genesys, user_function, webhook
from .action import (
    ActionTarget,
    Draw,
    Json,
    Memory,
    Read,
    Reply,
    Rules,
    Send,
    Sleep,
    Step,
    Steps,
    Unanswered,
    Write,
    act,
)
from .breaker import Limiter, Times
from .errors import ActionError, NotConfigured, NotNow
from .outbound import Outbound, Secret
from .request import ActionRequest, Budget, Clock

# At DEBUG botocore writes the secret it was given.
logging.getLogger("botocore").setLevel(logging.INFO)

# Short, since the request needs what is left of the function's time.
_AWS = Config(
    connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2}
)
# The breaker is worth less than the response that waits for it.
_TABLE = Config(connect_timeout=0.4, read_timeout=0.4, retries={"total_max_attempts": 1})
# After the request: for a note of 0.8 s at most, and to answer before Lambda ends the function.
_ANSWER_MARGIN_MS = 1_000
_GENESYS_HOST = re.compile(
    r"mypurecloud\.(com|ie|com\.au|jp|de)|[a-z0-9]+\.pure\.cloud|[a-z0-9]+\.us-gov-pure\.cloud"
)
_BUS_ARN = re.compile(r"arn:[a-z-]+:events:[a-z0-9-]+:[0-9]{12}:event-bus/[A-Za-z0-9._-]+")
_FUNCTION_ARN = re.compile(
    r"arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9$_-]+)?"
)
_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|localhost)(:\d{1,5})?")


@dataclass(frozen=True)
class Settings(Rules):
    """The settings of the template. Those that a target does not use are empty."""

    request_ms: int = 8_000
    secret_arn: str = ""
    webhook_url: str = ""
    genesys_host: str = ""
    target_arn: str = ""
    source_bus_arn: str = ""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Raises NotConfigured if a parameter of the template is missing or wrong."""
        target = environment.get("ACTION_TARGET", "none")
        if target not in get_args(ActionTarget):
            raise NotConfigured(f"ActionTarget is not {', '.join(get_args(ActionTarget))}")
        per_minute = int(environment.get("MAX_ACTIONS_PER_MINUTE") or 0)  # 0: no limit
        request_ms = round(1_000 * float(environment.get("CALL_SECONDS") or 8))
        settings = cls(
            target=cast("ActionTarget", target),
            request_ms=request_ms,
            claim_table=environment.get("CLAIM_TABLE", ""),
            limiter=Limiter(per_minute) if per_minute else None,
            max_tries=int(environment.get("MAX_TRIES") or 20),
            times=Times.of(request_ms, float(environment.get("PACE_SCALE") or 1)),
            secret_arn=environment.get("DESTINATION_SECRET_ARN", ""),
            webhook_url=environment.get("WEBHOOK_URL", ""),
            genesys_host=environment.get("GENESYS_HOST", ""),
            target_arn=environment.get("TARGET_ARN", ""),
            source_bus_arn=environment.get("SOURCE_BUS_ARN", ""),
        )
        if target in ("genesys", "webhook") and not settings.secret_arn:
            raise NotConfigured(f"the target {target} needs DestinationSecretArn")
        if target == "eventbridge" and not _BUS_ARN.fullmatch(settings.target_arn):
            raise NotConfigured("the target eventbridge needs TargetArn, the ARN of a bus")
        if target == "eventbridge" and settings.target_arn == settings.source_bus_arn:
            raise NotConfigured("TargetArn is the bus that the events come from: name another one")
        if target == "lambda" and not _FUNCTION_ARN.fullmatch(settings.target_arn):
            raise NotConfigured("the target lambda needs TargetArn, the ARN of a function")
        if target == "webhook":
            _check_url(settings.webhook_url)
        if target == "genesys" and not (
            _LOOPBACK.fullmatch(settings.genesys_host)
            or _GENESYS_HOST.fullmatch(settings.genesys_host)
        ):
            raise NotConfigured(
                "GenesysHost is not a region's host such as mypurecloud.de or usw2.pure.cloud"
            )
        return settings

    def genesys(self, service: Literal["login", "api"]) -> str:
        """Returns the address of a service of Genesys; on this machine one server plays both."""
        if _LOOPBACK.fullmatch(self.genesys_host):
            return self.genesys_host
        return f"https://{service}.{self.genesys_host}"

    @property
    def own_bus(self) -> str | None:
        """Returns the bus's name, if its account and region are those of the source bus."""
        place, _, name = self.target_arn.rpartition("/")
        return name if self.source_bus_arn.startswith(f"{place}/") else None


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        loopback = _LOOPBACK.fullmatch(f"{parts.scheme}://{parts.netloc}")
        addressed = parts.hostname and parts.port != 0 and re.fullmatch(r"[!-~]+", url)
    except ValueError:
        raise NotConfigured("WebhookUrl is not an address") from None
    if not addressed or (parts.scheme != "https" and not loopback):
        raise NotConfigured(
            "WebhookUrl is not an https:// address (http only on this machine) in plain ASCII; "
            "write other characters percent-encoded"
        )
    if "@" in parts.netloc:
        raise NotConfigured("WebhookUrl must not hold a password: requests are signed instead")


class Context(Protocol):
    """The part of Lambda's context that is used."""

    def get_remaining_time_in_millis(self) -> int: ...


class Target(Protocol):
    def act(self, request: ActionRequest, headers: dict[str, str], budget: Budget) -> int:
        """Sends the event, and returns the status of a success."""


@dataclass
class Driver:
    """Takes the steps of each event with boto3's client of DynamoDB and the target."""

    settings: Settings
    target: Target | None
    dynamodb: Any
    now_ms: Clock
    draw: Draw = random.random
    sleep: Callable[[float], None] = time.sleep
    _memory: Memory = field(default_factory=Memory, init=False)

    def __call__(self, payload: Any, remaining_ms: int) -> Json:
        request = ActionRequest.read(payload)
        ends_ms = self.now_ms() + remaining_ms - _ANSWER_MARGIN_MS
        until_ms = ends_ms - self.settings.request_ms
        steps = act(request, self.settings, self._memory, until_ms, self.now_ms, self.draw)
        return self._run(steps, request)

    def _run(self, steps: Steps, request: ActionRequest) -> Json:
        try:
            step = next(steps)
            while True:
                try:
                    result = self._take(step, request)
                except (Unanswered, ActionError, NotNow) as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(result)
        except StopIteration as stop:
            value: Json = stop.value
            return value

    def _take(self, step: Step, request: ActionRequest) -> Any:
        match step:
            case Send(until_ms):
                return self._send(request, until_ms)
            case Sleep(seconds):
                return self.sleep(seconds)
            case Read(arguments):
                return self._ask(self.dynamodb.get_item, arguments)
            case Write(verb, arguments):
                return self._ask(getattr(self.dynamodb, verb), arguments)

    def _ask(self, operation: Callable[..., Any], arguments: Any) -> Any:
        try:
            return operation(**arguments)
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                return None
            raise Unanswered from None
        except BotoCoreError:
            raise Unanswered from None

    def _send(self, request: ActionRequest, until_ms: int) -> Reply:
        if self.target is None:
            raise NotConfigured("this setup has no target")
        budget = Budget(until_ms, self.settings.request_ms, self.now_ms)
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": "genesys-once",
            "Idempotency-Key": request.idempotency_key,
            "X-Once-Execution": re.sub(r"[^!-~]", "?", request.owner)[:256],
        }
        try:
            status = self.target.act(request, headers, budget)
        except ActionError as error:
            error.started_ms = budget.started_ms
            raise
        return Reply(budget.started_ms or self.now_ms(), status)


def build(settings: Settings) -> Driver:
    """Wires one environment, with all that a first request would otherwise wait for."""

    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    if settings.target == "none":
        return Driver(settings, None, None, now_ms)
    dynamodb = boto3.client("dynamodb", config=_TABLE)
    return Driver(settings, _target(settings, now_ms), dynamodb, now_ms)


def _target(settings: Settings, now_ms: Clock) -> Target:
    if settings.target in ("eventbridge", "lambda"):
        arn = settings.target_arn
        region = arn.split(":")[3]
        # Never repeats a request by itself, and ends within the time of one.
        seconds = settings.request_ms / 1_000
        to_connect = min(1, seconds / 4)
        limits = Config(connect_timeout=to_connect, read_timeout=seconds - to_connect)
        config = _TABLE.merge(limits)
        if settings.target == "lambda":
            client = boto3.client("lambda", region_name=region, config=config)
            return user_function.UserFunction(arn, client)
        put = boto3.client("events", region_name=region, config=config)
        look_up = boto3.client("events", region_name=region, config=_TABLE)
        return eventbridge.EventBridge(arn, settings.own_bus, put, look_up, now_ms)
    secrets = boto3.client("secretsmanager", config=_AWS)
    http = Outbound(now_ms)
    if settings.target == "webhook":
        secret = Secret(settings.secret_arn, webhook.FIELDS, secrets, now_ms)
        return webhook.Webhook(settings.webhook_url, secret, http, now_ms)
    secret = Secret(settings.secret_arn, genesys.FIELDS, secrets, now_ms)
    tokens = genesys.Tokens(settings.genesys("login"), secret, http, now_ms)
    return genesys.Genesys(settings.genesys("api"), tokens, http)


_driver = cache(lambda: build(Settings.read(os.environ)))

# Lambda gives a function more processor while it starts. Each invocation says what is wrong with
# the environment.
with contextlib.suppress(NotConfigured):
    _driver()


def handler(payload: Any, context: Context) -> Json:
    try:
        return _driver()(payload, context.get_remaining_time_in_millis())
    except NotConfigured as error:  # the environment, or a request of another release
        raise error.verdict() from None
