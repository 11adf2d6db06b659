"""The picture is of this state machine."""

import copy
from typing import Any

import pytest

from proof.definition.asl import definition, states
from proof.definition.diagram import PAGE, PICTURE, page, stale


def test_what_is_drawn_is_current() -> None:
    assert stale(PICTURE.read_text("utf-8"), definition()) == []
    assert PAGE.read_text("utf-8") == page(PAGE.read_text("utf-8"), definition())


def _other_way(machine: dict[str, Any]) -> None:
    states(machine)["CloseStale"]["Next"] = "Parked"


def _other_error(machine: dict[str, Any]) -> None:
    states(machine)["CloseStale"]["Catch"][0]["Next"] = "ReleaseClaim"


def _other_comment(machine: dict[str, Any]) -> None:
    states(machine)["CloseStale"]["Comment"] = "Something else."


@pytest.mark.parametrize("change", [_other_way, _other_error, _other_comment])
def test_a_picture_of_another_machine_is_stale(change: Any) -> None:
    machine = copy.deepcopy(definition())
    change(machine)
    assert any("CloseStale" in line for line in stale(PICTURE.read_text("utf-8"), machine))
