"""Every scenario on our own interpreter of the ASL: as AWS is likely to be, with each switch of
`proof.asl.readings` the other way, and with the reference JSONata."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proof.asl.jsonata import Reference, ReferenceMissingError
from proof.asl.readings import Readings
from proof.scenarios import asl_machine
from proof.scenarios.expectations import differences
from proof.scenarios.scenario import load
from proof.scenarios.stage import Stage
from tests.scenarios.playing import each_case, seen_on_ours

OTHERS = dict(Readings().others())

# A lease or a deadline ends in the very millisecond of a call: a clock that moves is past it.
_TO_THE_MILLISECOND = {"copy-after-the-lease-ended", "no-time-left-for-another-attempt"}
_DRIFT_MS = 50
# A return time is in whole seconds, rounded up.
_RETURN_DRIFT_MS = 1_050
# Where the built-in retry sends the first call's arguments again, the function cannot count both.
_COUNTS = {"arguments-once": ("/retry", "/calls")}


@pytest.fixture(scope="module")
def reference() -> Iterator[Reference]:
    try:
        with Reference() as engine:
            yield engine
    except ReferenceMissingError as missing:
        pytest.skip(str(missing))


@each_case
def test_on_our_interpreter(path: Path) -> None:
    found = differences(load(path), seen_on_ours(path, Readings()))
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("switch", OTHERS)
@each_case
def test_ends_alike_however_the_documentation_is_read(path: Path, switch: str) -> None:
    if switch.startswith("millis") and path.stem in _TO_THE_MILLISECOND:
        pytest.skip("a lease or a deadline ends in the very millisecond of a call")
    one, other = seen_on_ours(path, OTHERS[switch]), seen_on_ours(path, Readings())
    drift_ms = _DRIFT_MS if switch.startswith("millis") else 0
    apart = [
        place
        for place in _apart(one, other, drift_ms)
        if not place.partition(":")[0].endswith(_COUNTS.get(switch, ("-",)))
    ]
    assert apart == []


@each_case
def test_on_the_reference_jsonata(path: Path, reference: Reference) -> None:
    stage = Stage(load(path), organisation=path.stem)
    with asl_machine.set_for(stage, engine=reference) as machine:
        assert stage.play(machine) == seen_on_ours(path, Readings())


def _apart(one: Any, other: Any, drift_ms: int, place: str = "") -> Iterator[str]:
    """Where two performances differ by more than a clock that goes on while a state is at work."""
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
