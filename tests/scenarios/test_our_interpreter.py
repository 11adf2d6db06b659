"""Every scenario on our own interpreter of the ASL: as AWS is likely to be, with each switch of
`proof.asl.readings` the other way, and with the reference JSONata."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from proof.asl.jsonata import Reference, ReferenceMissingError
from proof.asl.readings import Readings
from proof.scenarios import asl_machine
from proof.scenarios.expectations import differences
from proof.scenarios.scenario import load
from proof.scenarios.stage import Stage
from tests.scenarios.playing import apart, each_case, seen_on_ours

OTHERS = dict(Readings().others())

# A lease or a deadline ends in the very millisecond of a call: a clock that moves is past it.
_TO_THE_MILLISECOND = {"copy-after-the-lease-ended", "no-time-left-for-another-attempt"}
# Where the first call's arguments are sent again, nobody tells the function of that call.
_BY_THE_SECOND_CALL = {"no-time-left-for-a-second-call"}


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
    if switch == "arguments-once" and path.stem in _BY_THE_SECOND_CALL:
        pytest.skip("the function cannot know that a call failed before")
    one, other = seen_on_ours(path, OTHERS[switch]), seen_on_ours(path, Readings())
    assert apart(one, other, switch) == []


@each_case
def test_on_the_reference_jsonata(path: Path, reference: Reference) -> None:
    stage = Stage(load(path), organisation=path.stem)
    with asl_machine.set_for(stage, engine=reference) as machine:
        assert stage.play(machine) == seen_on_ours(path, Readings())
