"""Both engines of JSONata answer the definition's expressions alike, or a list says why not."""

from typing import Any

import pytest

from proof.asl.differential import (
    KNOWN,
    SEVERAL,
    UNLISTED,
    Case,
    Recorder,
    difference,
    mutants,
)
from proof.asl.jsonata import Clock, Library, Reference
from proof.asl.machine import Machine
from proof.definition.asl import definition
from tests.statemachine.playing import PLAYS, Play

MUTANTS = 1_000


@pytest.fixture(scope="module")
def known() -> list[Case]:
    recorder = Recorder()
    machine = Machine(definition(), recorder, draw=lambda: 1.0)
    for event, answers in PLAYS.values():
        Play([event], answers, machine)
    return list(recorder.cases)


def test_expressions_have_one_value(known: list[Case], reference: Reference) -> None:
    assert len({case.expression for case in known}) > 80
    assert [case for case in known if difference(case, Library(), reference)] == []


def test_hostile_values_make_no_difference_that_is_not_listed(
    known: list[Case], reference: Reference
) -> None:
    sample = list(mutants(known, MUTANTS, seed=3))
    assert len(set(sample)) > MUTANTS // 3, "mutants that are all the same prove nothing"
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
    ("$map([$x.N], $number)", '{"x": {"N": {}}}'),
    ("$m in $x", '{"m": ["m1"], "x": ["m2", ["m1"]]}'),
]


def test_each_listed_difference_is_there(reference: Reference) -> None:
    """So that the list shrinks when an engine is put right."""
    cases = [Case(expression, bindings, 0) for expression, bindings in LISTED]
    assert [difference(case, Library(), reference) for case in cases] == list(KNOWN)


def test_a_difference_without_a_reason_is_seen(known: list[Case], reference: Reference) -> None:
    class Wrong(Library):
        def evaluate(self, expression: str, bindings: Any, clock: Clock) -> Any:
            return [super().evaluate(expression, bindings, clock)]

    found = {difference(case, Wrong(), reference) for case in known[:20]}
    assert found == {UNLISTED}
