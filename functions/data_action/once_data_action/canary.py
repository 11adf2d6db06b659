"""Answers the events of `once check` in place of the destination, which never sees them."""

import json
from collections.abc import Mapping
from typing import Any

from .body import body_text
from .errors import Failed, Rejected


def is_canary(event: Mapping[str, Any]) -> bool:
    """Reads the mark of the enrichment. The contents of an event cannot set it."""
    return event.get("canary") is True


def answer(event: Mapping[str, Any], now_ms: int) -> None:
    """Responds as the canary's body asks: rejected or failing until a time, then a success.

    Without an end, a canary that is delivered after its check would stay parked.
    """
    body = json.loads(body_text(event))
    if now_ms < body.get("refuseUntilMs", 0):
        raise Rejected("a canary of once check, which asked to be refused")
    if now_ms < body.get("failUntilMs", 0):
        raise Failed("a canary of once check, which asked to fail for a while")
