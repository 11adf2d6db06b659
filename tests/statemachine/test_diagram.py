"""The picture is of this state machine."""

import copy

import pytest

from proof.definition.asl import definition, states
from proof.definition.diagram import LABELS, made_from


@pytest.mark.parametrize("field", ["Next", "Comment", "Catch"])
def test_picture_of_another_machine_is_stale(field: str) -> None:
    machine = copy.deepcopy(definition())
    states(machine)["CloseClaim"][field] = [{"Next": "Parked"}] if field == "Catch" else "Parked"
    assert made_from(machine) != made_from(definition())


def test_label_without_an_arrow_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LABELS, ("Parked", "RunAction"), "no such arrow")
    with pytest.raises(ValueError, match="Parked"):
        made_from(definition())
