"""Every scenario on the emulator, whose interpreter is another one than ours."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from once_enrichment.elements import Element
from pydantic import TypeAdapter

from proof.asl.readings import Readings
from proof.scenarios.emulator_machine import EmulatorMachine
from proof.scenarios.expectations import differences
from proof.scenarios.scenario import load
from proof.scenarios.stage import Stage
from tests.scenarios.playing import each_case, seen_on_ours

_ELEMENT: TypeAdapter[Element] = TypeAdapter(Element)


@each_case
def test_its_elements_are_what_the_enrichment_answers(path: Path) -> None:
    for message in load(path).messages().values():
        if message.without is None:
            _ELEMENT.validate_json(json.dumps(message.element(path.stem, 1_777_888_800_000)))


@pytest.mark.local
@each_case
def test_on_the_emulator(path: Path, emulator_machine: EmulatorMachine) -> None:
    scenario = load(path)
    stage = Stage(scenario, organisation=path.stem)
    with emulator_machine.playing(stage):
        seen = stage.play(emulator_machine)
    found = differences(scenario, seen)
    assert not found, "\n".join(["", *found])
    alike = _without_crash_texts(seen) == _without_crash_texts(seen_on_ours(path, Readings()))
    assert alike, "the two interpreters differ in what no file expects"


def _without_crash_texts(seen: dict[str, Any]) -> dict[str, Any]:
    """Leaves out what the platform writes about a crash, which is another text on each."""
    whole = copy.deepcopy(seen)
    endings = [ending for ending in whole["deliveries"].values() if ending != "died"]
    records = [record for ending in endings for record in ending["records"].values()]
    for one in [*records, *whole["rows"].values()]:
        if one.get("cause", "").startswith("Runtime."):
            del one["cause"]
    return whole
