"""The picture is of this state machine."""

import copy
from typing import Any

import pytest

from proof.definition.asl import definition, states
from proof.definition.diagram import LABELS, PICTURE, stale


def _other_way(machine: dict[str, Any]) -> None:
    states(machine)["CloseClaim"]["Next"] = "Parked"


def _other_error(machine: dict[str, Any]) -> None:
    states(machine)["CloseClaim"]["Catch"][0]["Next"] = "Parked"


def _other_comment(machine: dict[str, Any]) -> None:
    states(machine)["CloseClaim"]["Comment"] = "Something else."


@pytest.mark.parametrize("change", [_other_way, _other_error, _other_comment])
def test_a_picture_of_another_machine_is_stale(change: Any) -> None:
    machine = copy.deepcopy(definition())
    change(machine)
    assert any("CloseClaim" in line for line in stale(PICTURE.read_text("utf-8"), machine))


@pytest.mark.parametrize("arrow", [("MayAct", "AdvanceLatest"), ("Parked", "RunAction")])
def test_a_label_that_the_picture_lacks_is_stale(
    arrow: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LABELS, arrow, "another label")
    assert stale(PICTURE.read_text("utf-8"), definition()) == [" to ".join(arrow)]
