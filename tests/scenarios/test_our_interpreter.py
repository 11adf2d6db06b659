"""Every scenario on our own interpreter of the ASL: as AWS is likely to be, with each switch of
`proof.asl.readings` the other way, and with the reference JSONata."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from proof.asl.jsonata import Reference, ReferenceMissingError
from proof.asl.readings import Readings
from proof.scenarios import asl_machine
from proof.scenarios.expectations import differences
from proof.scenarios.scenario import CASES, load
from proof.scenarios.stage import Stage
from tests.scenarios.playing import RESTS_ON_CODES, each_case, seen_on_ours

OTHERS = dict(Readings().others())

# What today's definition rests on, against the rule that it ends alike whichever way each switch
# stands: by switch, the files and the reason. An entry that is no longer true fails as an
# unexpected pass, and goes.
_EVERY_FILE = frozenset(path.stem for path in CASES.glob("*.yaml"))
_RESTS_ON = {
    "choice_assign-always": (
        _EVERY_FILE - {"a-lane-that-breaks", "no-time-left-for-another-attempt"},
        "its Choice assigns what is there only when no rule matched",
    ),
    "arguments-once": (
        {
            "action-fails-for-a-moment",
            "action-fails-throughout",
            "answer-of-the-call-lost",
            "each-event-has-its-own-retries",
            "forgotten-on-purpose",
            "lambda-throttled",
            "ten-subjects-in-one-batch",
        },
        "it sends the number of the attempt, from RetryCount",
    ),
    "millis-call": (
        {"gate-opens-and-closes", "gate-probe-fails", "rate-limited-for-minutes"},
        "it draws a random number from the clock's milliseconds",
    ),
}
_RESTS_ON_CODES = (RESTS_ON_CODES, "its Retry names DynamoDB's codes, AWS reports classes")

# A lease or a deadline ends in the very millisecond of a call: a clock that moves is past it.
_TO_THE_MILLISECOND = {"copy-after-the-lease-ended", "no-time-left-for-another-attempt"}
_DRIFT_MS = 50


@pytest.fixture(scope="module")
def reference() -> Iterator[Reference]:
    try:
        with Reference() as engine:
            yield engine
    except ReferenceMissingError as missing:
        pytest.skip(str(missing))


@each_case
def test_on_our_interpreter(path: Path, request: pytest.FixtureRequest) -> None:
    _expect_failure(request, path, *_RESTS_ON_CODES)
    found = differences(load(path), seen_on_ours(path, Readings()))
    assert not found, "\n".join(["", *found])


@pytest.mark.parametrize("switch", OTHERS)
@each_case
def test_ends_alike_however_the_documentation_is_read(
    path: Path, switch: str, request: pytest.FixtureRequest
) -> None:
    if switch.startswith("millis") and path.stem in _TO_THE_MILLISECOND:
        pytest.skip("a lease or a deadline ends in the very millisecond of a call")
    _expect_failure(request, path, *_RESTS_ON_CODES)
    _expect_failure(request, path, *_RESTS_ON.get(switch, ((), "")))
    one, other = seen_on_ours(path, OTHERS[switch]), seen_on_ours(path, Readings())
    drift_ms = _DRIFT_MS if switch.startswith("millis") else 0
    assert list(_apart(one, other, drift_ms)) == []


@each_case
def test_on_the_reference_jsonata(
    path: Path, reference: Reference, request: pytest.FixtureRequest
) -> None:
    _expect_failure(request, path, *_RESTS_ON_CODES)
    stage = Stage(load(path), organisation=path.stem)
    with asl_machine.set_for(stage, engine=reference) as machine:
        assert stage.play(machine) == seen_on_ours(path, Readings())


def _expect_failure(
    request: pytest.FixtureRequest, path: Path, files: Collection[str], why: str
) -> None:
    if path.stem in files:
        request.applymarker(pytest.mark.xfail(reason=why, strict=True))


def _apart(one: Any, other: Any, drift_ms: int, place: str = "") -> Iterator[str]:
    """Where two performances differ by more than a clock that goes on while a state is at work."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name in one:
            yield from _apart(one[name], other[name], drift_ms, f"{place}/{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, pair in enumerate(zip(one, other, strict=True)):
            yield from _apart(*pair, drift_ms, f"{place}/{index}")
    elif type(one) is type(other) is int and abs(one - other) <= drift_ms:
        return
    elif one != other:
        yield f"{place}: {one}, not {other}"
