"""The drawing is of this state machine, and the way of an event can be followed in it."""

from proof.definition.asl import definition, states
from proof.definition.diagram import BLOCK, FILES, drawings, happy_path, stale


def test_what_is_drawn_is_current() -> None:
    assert stale() == [], "run python -m proof.definition.diagram"


def test_both_levels_are_drawn_somewhere() -> None:
    drawn = {name for file in FILES for _, name, _ in BLOCK.findall(file.read_text())}
    assert drawn == set(drawings())


def test_every_state_is_drawn_and_reached_by_an_arrow() -> None:
    machine = definition()
    lane = states(machine)["SettleLanes"]["ItemProcessor"]
    for name, level in (("batch", machine), ("lane", lane)):
        lines = drawings()[name].splitlines()
        for state in level["States"]:
            assert any(line.strip().startswith(state) for line in lines), state
            if state != level["StartAt"]:
                assert any(line.endswith(f" {state}") for line in lines), state


def test_the_thick_line_is_the_way_of_an_event_that_is_acted_on() -> None:
    lane = states()["SettleLanes"]["ItemProcessor"]
    path = happy_path(lane["States"], lane["StartAt"])
    acting = ["ClaimKey", "CheckOrder", "RunAction", "CompleteClaim", "NoteOutcome"]
    assert [state for state in path if state in acting] == acting


def test_every_state_says_why_it_is_there_or_needs_no_reason() -> None:
    """Pass states that only carry values, and a Choice or Wait that its name explains."""
    silent = {name for name, state in states().items() if "Comment" not in state}
    assert all(states()[name]["Type"] in ("Pass", "Choice", "Wait") for name in silent), silent
