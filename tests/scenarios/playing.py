"""Scenarios as they went on the interpreters in this process, once each."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from proof.asl.readings import Readings
from proof.scenarios import asl_machine, moto_machine
from proof.scenarios.scenario import CASES, load
from proof.scenarios.stage import Stage

each_case = pytest.mark.parametrize(
    "path", sorted(CASES.glob("*.yaml")), ids=lambda path: str(path.stem)
)


@cache
def seen_on_moto(path: Path) -> dict[str, Any]:
    stage = Stage(load(path), organisation=path.stem)
    with moto_machine.set_for(stage) as machine:
        return stage.play(machine)


@cache
def seen_on_ours(path: Path, readings: Readings) -> dict[str, Any]:
    stage = Stage(load(path), organisation=path.stem)
    with asl_machine.set_for(stage, readings) as machine:
        return stage.play(machine)
