"""A sample of bench/jsonata.py: both engines answer alike, or the list says why not."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from proof.asl import differential
from proof.asl.differential import (
    CASES,
    KNOWN,
    SEVERAL,
    UNLISTED,
    Case,
    difference,
    explored,
    mutants,
)
from proof.asl.jsonata import Library, Reference, ReferenceMissingError
from proof.explorer.scenarios import FULL

SAMPLE = 2_000


@pytest.fixture(scope="module")
def reference():
    try:
        with Reference() as engine:
            yield engine
    except ReferenceMissingError as missing:
        pytest.skip(str(missing))


class EachFourth:
    """A folder that shows a quarter of the scenarios."""

    def glob(self, pattern: str) -> list[Path]:
        return sorted(CASES.glob(pattern))[::4]


@pytest.fixture(scope="module")
def known() -> list[Case]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(differential, "CASES", EachFourth())
        return differential.recorded()


def test_expressions_of_scenarios_have_one_value(known: list[Case], reference: Reference) -> None:
    sample = Random(1).sample(known, SAMPLE // 2)  # noqa: S311 - to be repeated, not to be secret
    assert [case for case in sample if difference(case, Library(), reference)] == []


@pytest.fixture(scope="module")
def met() -> list[Case]:
    return explored(most=20, walks=1, seed=1, scenarios=FULL[::8])


def test_expressions_of_the_explorer_have_one_value(met: list[Case], reference: Reference) -> None:
    assert [case for case in met if difference(case, Library(), reference)] == []


def test_the_explorer_brings_about_what_no_scenario_does(
    met: list[Case], known: list[Case]
) -> None:
    most = max(Counter(case.expression for case in met).values())
    assert most == 20, "a sample that is never full shows nothing of walks that go on"
    assert len({case.expression for case in met}) > 70
    assert not set(met) & set(known)


def test_hostile_values_make_no_difference_that_is_not_listed(
    known: list[Case], reference: Reference
) -> None:
    sample = list(mutants(known, SAMPLE // 2, seed=2))
    assert len(set(sample)) > SAMPLE // 3, "mutants that are all the same prove nothing"
    reasons = {case: difference(case, Library(), reference) for case in sample}
    allowed = {None, *KNOWN, SEVERAL}
    assert {case: why for case, why in reasons.items() if why not in allowed} == {}


LISTED = [
    ("$count($x)", '{"x": null}'),
    ("$string($x)", '{"x": 9007199254740992}'),
    ("$string([$x])", '{"x": "größe"}'),
    ("$number($x) > 1", '{"x": "NaN"}'),
    ("$distinct($x)", '{"x": [1, true]}'),
    ("[1, 3, 6][$x - 1]", '{"x": 0.1}'),
    ("$m in $x", '{"m": ["m1"], "x": ["m2", ["m1"]]}'),
]


def test_each_listed_difference_is_there(reference: Reference) -> None:
    """So that the list shrinks when an engine is put right."""
    cases = [Case(expression, bindings, 0) for expression, bindings in LISTED]
    assert [difference(case, Library(), reference) for case in cases] == list(KNOWN)


def test_a_difference_without_a_reason_is_seen(known: list[Case], reference: Reference) -> None:
    class Wrong(Library):
        def evaluate(self, expression, bindings, clock):
            return [super().evaluate(expression, bindings, clock)]

    found = {difference(case, Wrong(), reference) for case in known[:20]}
    assert found == {UNLISTED}
