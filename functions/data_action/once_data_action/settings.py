"""The environment of the function, read and checked once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast, get_args
from urllib.parse import urlsplit

from .errors import NotConfigured
from .limiter import Limiter
from .times import Times

Target = Literal["none", "genesys", "webhook", "eventbridge", "lambda"]

_GENESYS_HOST = re.compile(
    r"mypurecloud\.(com|ie|com\.au|jp|de)|[a-z0-9]+\.pure\.cloud|[a-z0-9]+\.us-gov-pure\.cloud"
)
_BUS_ARN = re.compile(r"arn:[a-z-]+:events:[a-z0-9-]+:[0-9]{12}:event-bus/[A-Za-z0-9._-]+")
_FUNCTION_ARN = re.compile(
    r"arn:[a-z-]+:lambda:[a-z0-9-]+:[0-9]{12}:function:[A-Za-z0-9_-]+(:[A-Za-z0-9$_-]+)?"
)
_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|localhost)(:\d{1,5})?")


@dataclass(frozen=True)
class Settings:
    """The settings of the template. Those that a target does not use are empty."""

    target: Target
    request_ms: int = 8_000
    claim_table: str = ""
    limiter: Limiter | None = None
    max_tries: int = 20
    times: Times = field(default_factory=Times.of)
    secret_arn: str = ""
    webhook_url: str = ""
    genesys_host: str = ""
    target_arn: str = ""
    source_bus_arn: str = ""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Raises NotConfigured if a parameter of the template is missing or wrong."""
        target = environment.get("ACTION_TARGET", "none")
        if target not in get_args(Target):
            raise NotConfigured(f"ActionTarget is not {', '.join(get_args(Target))}")
        per_minute = int(environment.get("MAX_ACTIONS_PER_MINUTE") or 0)  # 0: no limit
        request_ms = round(1_000 * float(environment.get("CALL_SECONDS") or 8))
        settings = cls(
            target=cast("Target", target),
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
