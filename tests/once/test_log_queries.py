"""The local stack answers the statistics that the commands ask of Logs Insights."""

import json
from typing import Any

import pytest

from once.local.metrics import _fields, run_stages


def line(at_ms: int, said: Any) -> dict[str, Any]:
    return _fields({"@message": json.dumps(said), "_timestamp_ms": at_ms})


def test_events_are_counted_by_family() -> None:
    rows = [line(at, {"family": "a"}) for at in (10, 20)] + [line(30, "no object")]
    rows += [line(40, {"family": "a", "outcome": "RETRY"})]
    query = 'filter ispresent(family) and outcome != "RETRY"'
    query += " | stats count(*) as events, max(@timestamp) as last by family, source"
    stages = [stage.strip() for stage in query.split("|")]
    assert run_stages(stages, rows) == [{"family": "a", "events": 2, "last": 20}]


def test_an_unknown_stage_is_refused() -> None:
    with pytest.raises(ValueError, match="does not know the stage"):
        run_stages(["dedup family"], [])
