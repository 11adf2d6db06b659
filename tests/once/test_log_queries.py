"""The local stack answers the statistics that the commands ask of Logs Insights."""

import json
from typing import Any

import pytest

from once.local.metrics import _fields, run_stages

HOUR_MS = 3_600_000


def line(at_ms: int, said: Any) -> dict[str, Any]:
    return _fields({"@message": json.dumps(said), "_timestamp_ms": at_ms})


def test_events_are_counted_by_family_and_hour() -> None:
    rows = [line(at, {"family": "a"}) for at in (10, 20, HOUR_MS + 5)] + [line(30, "no object")]
    query = "filter ispresent(family) | stats count(*) as events, max(@timestamp) as last"
    stages = [one.strip() for one in f"{query} by family, bin(1h) | sort last desc".split("|")]
    newest, oldest = run_stages(stages, rows)
    assert (newest["events"], newest["last"], newest["bin(1h)"]) == (1, HOUR_MS + 5, HOUR_MS)
    assert (oldest["events"], oldest["last"], oldest["bin(1h)"]) == (2, 20, 0)


def test_an_unknown_stage_is_refused() -> None:
    with pytest.raises(ValueError, match="does not know the stage"):
        run_stages(["dedup family"], [])
