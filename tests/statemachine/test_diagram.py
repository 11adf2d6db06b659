"""The picture is of this state machine."""

import copy

import pytest

from proof.definition.asl import definition, states
from proof.definition.diagram import LABELS, PICTURE, stale


@pytest.mark.parametrize("field", ["Next", "Comment", "Catch"])
def test_a_picture_of_another_machine_is_stale(field: str) -> None:
    machine = copy.deepcopy(definition())
    state = states(machine)["CloseClaim"]
    state[field] = [{"Next": "Parked"}] if field == "Catch" else "Parked"
    assert any("CloseClaim" in line for line in stale(PICTURE.read_text("utf-8"), machine))


@pytest.mark.parametrize("arrow", [("MayAct", "AdvanceLatest"), ("Parked", "RunAction")])
def test_a_label_that_the_picture_lacks_is_stale(
    arrow: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LABELS, arrow, "another label")
    assert stale(PICTURE.read_text("utf-8"), definition()) == [" to ".join(arrow)]
