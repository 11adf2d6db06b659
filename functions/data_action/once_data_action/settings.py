"""The environment of the function, read and checked once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args
from urllib.parse import urlsplit

from .errors import NotConfigured

Target = Literal["none", "genesys", "webhook", "eventbridge"]

_GENESYS_HOST = re.compile(
    r"mypurecloud\.(com|ie|com\.au|jp|de)|[a-z0-9]+\.pure\.cloud|[a-z0-9]+\.us-gov-pure\.cloud"
)
_BUS_ARN = re.compile(r"arn:[a-z-]+:events:[a-z0-9-]+:[0-9]{12}:event-bus/[A-Za-z0-9._-]+")
_LOOPBACK = re.compile(r"http://(127\.0\.0\.1|localhost)(:\d{1,5})?")


@dataclass(frozen=True)
class Settings:
    """The settings of the template. Those that a target does not use are empty."""

    target: Target
    request_ms: int
    secret_arn: str = ""
    webhook_url: str = ""
    genesys_host: str = ""
    overflow_bucket: str = ""
    claim_table: str = ""
    target_bus_arn: str = ""
    source_bus_arn: str = ""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """NotConfigured where a parameter of the template is missing or wrong."""
        target = environment.get("ACTION_TARGET", "none")
        if target not in get_args(Target):
            raise NotConfigured(f"ActionTarget is not {', '.join(get_args(Target))}")
        settings = cls(
            target=cast("Target", target),
            request_ms=int(environment.get("CALL_SECONDS", "8")) * 1000,
            secret_arn=environment.get("DESTINATION_SECRET_ARN", ""),
            webhook_url=environment.get("WEBHOOK_URL", ""),
            genesys_host=environment.get("GENESYS_HOST", ""),
            overflow_bucket=environment.get("OVERFLOW_BUCKET", ""),
            claim_table=environment.get("CLAIM_TABLE", ""),
            target_bus_arn=environment.get("TARGET_BUS_ARN", ""),
            source_bus_arn=environment.get("SOURCE_BUS_ARN", ""),
        )
        if target in ("genesys", "webhook") and not settings.secret_arn:
            raise NotConfigured(f"the target {target} needs DestinationSecretArn")
        if target == "eventbridge":
            _check_bus(settings)
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
        """The address of one of Genesys' services; on this machine one server plays both."""
        if _LOOPBACK.fullmatch(self.genesys_host):
            return self.genesys_host
        return f"https://{service}.{self.genesys_host}"

    @property
    def own_bus(self) -> str | None:
        """The target bus's name, if account and region are those of the source bus."""
        place, _, name = self.target_bus_arn.rpartition("/")
        return name if self.source_bus_arn.startswith(f"{place}/") else None


def _check_bus(settings: Settings) -> None:
    if not _BUS_ARN.fullmatch(settings.target_bus_arn):
        raise NotConfigured("the target eventbridge needs TargetBusArn, the ARN of a bus")
    if settings.target_bus_arn == settings.source_bus_arn:
        raise NotConfigured("TargetBusArn is the bus that the events come from: name another one")


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
