"""Every scenario on two interpreters of the same ASL: moto, and the embedded AWS. The third is in
test_our_interpreter."""

import json
from pathlib import Path

import pytest
from enrichment.elements import Element
from pydantic import TypeAdapter

from proof.asl.readings import Readings
from proof.scenarios.embedded_machine import EmbeddedMachine
from proof.scenarios.expectations import differences
from proof.scenarios.scenario import load
from proof.scenarios.stage import Stage
from tests.scenarios.playing import each_case, seen_on_moto, seen_on_ours

_ELEMENT: TypeAdapter[Element] = TypeAdapter(Element)


@each_case
def test_its_elements_are_what_the_enrichment_answers(path: Path) -> None:
    for message in load(path).messages().values():
        if message.without is None:
            _ELEMENT.validate_json(json.dumps(message.element(path.stem, 1_777_888_800_000)))


@each_case
def test_on_moto(path: Path) -> None:
    found = differences(load(path), seen_on_moto(path))
    assert not found, "\n".join(["", *found])
    alike = seen_on_moto(path) == seen_on_ours(path, Readings())
    assert alike, "two interpreters differ in what no file expects"


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
