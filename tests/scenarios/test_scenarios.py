"""Every scenario on two interpreters of the same ASL: moto, and the embedded AWS. The third is in
test_our_interpreter."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from enrichment.elements import Element
from pydantic import TypeAdapter

from proof.scenarios import moto_machine
from proof.scenarios.embedded_machine import EmbeddedMachine
from proof.scenarios.expectations import differences
from proof.scenarios.scenario import CASES, load
from proof.scenarios.stage import Stage

_ELEMENT: TypeAdapter[Element] = TypeAdapter(Element)
each_case = pytest.mark.parametrize(
    "path", sorted(CASES.glob("*.yaml")), ids=lambda path: str(path.stem)
)


@cache
def seen_on_moto(path: Path) -> dict[str, Any]:
    stage = Stage(load(path), organisation=path.stem)
    with moto_machine.set_for(stage) as machine:
        return stage.play(machine)


@each_case
def test_its_elements_are_what_the_enrichment_answers(path: Path) -> None:
    for message in load(path).messages().values():
        if message.without is None:
            _ELEMENT.validate_json(json.dumps(message.element(path.stem, 1_777_888_800_000)))


@each_case
def test_on_moto(path: Path) -> None:
    found = differences(load(path), seen_on_moto(path))
    assert not found, "\n".join(["", *found])


@pytest.mark.embedded
@each_case
def test_on_the_embedded_aws(path: Path, embedded_machine: EmbeddedMachine) -> None:
    scenario = load(path)
    stage = Stage(scenario, organisation=path.stem)
    with embedded_machine.playing(stage):
        seen = stage.play(embedded_machine)
    found = differences(scenario, seen)
    assert not found, "\n".join(["", *found])
    assert seen == seen_on_moto(path), "the two interpreters differ in what no file expects"
