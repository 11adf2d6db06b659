"""Answers the events of `once check` in place of the destination, which never sees them."""

from collections.abc import Mapping
from typing import Any

from .errors import Failed, Rejected

_PK = "once-check/check/"  # of the organisation and the subjects that once check makes up


def is_canary(event: Mapping[str, Any]) -> bool:
    """Only by its key: anybody may call an event of his own `Once Check`."""
    return str(event["key"]["pk"]).startswith(_PK)


def answer(event: Mapping[str, Any], now_ms: int) -> None:
    """As the canary's body asks: refused, failing until a time, or else well."""
    body = event.get("body") or {}
    if body.get("refuse"):
        raise Rejected("a canary of once check, which asked to be refused")
    if now_ms < body.get("failUntilMs", 0):
        raise Failed("a canary of once check, which asked to fail for a while")
