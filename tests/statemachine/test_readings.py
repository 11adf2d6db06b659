"""The definition rests on nothing that AWS's documentation leaves open."""

import pytest

from proof.asl.jsonata import Library
from proof.asl.machine import Machine
from proof.asl.readings import Readings
from proof.definition.asl import definition
from tests.statemachine.playing import PLAYS, Play

READINGS = dict(Readings().others())


@pytest.mark.parametrize("reading", READINGS)
def test_an_event_ends_alike_whichever_way_a_page_is_read(reading: str) -> None:
    other = Machine(definition(), Library(), READINGS[reading], draw=lambda: 1.0)
    for name, (event, answers) in PLAYS.items():
        usual, played = Play([event], answers), Play([event], answers, other)
        assert (played.path, played.ended) == (usual.path, usual.ended), name
