"""Scenarios as they went on the interpreters in this process, once each."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from proof.asl.readings import Readings
from proof.scenarios import asl_machine
from proof.scenarios.scenario import CASES, load
from proof.scenarios.stage import Stage

each_case = pytest.mark.parametrize(
    "path", sorted(CASES.glob("*.yaml")), ids=lambda path: str(path.stem)
)


@cache
def seen_on_ours(path: Path, readings: Readings) -> dict[str, Any]:
    stage = Stage(load(path), organisation=path.stem)
    with asl_machine.set_for(stage, readings) as machine:
        return stage.play(machine)


_DRIFT_MS = 50
# A return time is in whole seconds, rounded up.
_RETURN_DRIFT_MS = 1_050
# Where the built-in retry sends the first call's arguments again, the function cannot count both.
_COUNTS = {"arguments-once": ("/retry", "/requests")}


def apart(one: Any, other: Any, switch: str) -> list[str]:
    """Returns the differences of two plays, without those that the switch itself makes: a clock
    that moves during a state, a count of retries that is not updated."""
    drift_ms = _DRIFT_MS if switch.startswith("millis") else 0
    counts = _COUNTS.get(switch, ("-",))
    found = _apart(one, other, drift_ms)
    return [place for place in found if not place.partition(":")[0].endswith(counts)]


def _apart(one: Any, other: Any, drift_ms: int, place: str = "") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from _apart(one[name], other[name], drift_ms, f"{place}/{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from _apart(*pair, drift_ms, f"{place}/{index}")
    elif type(one) is type(other) is int and abs(one - other) <= (
        _RETURN_DRIFT_MS if drift_ms and place.endswith("/returnsAtMs") else drift_ms
    ):
        return
    elif one != other:
        yield f"{place}: {one}, not {other}"
