"""What is sent, and what comes of each answer, over real HTTP."""

from tests.data_action.support import Bench


def test_an_event_acts_and_the_answer_is_small(either: Bench) -> None:
    answer = either.call()
    assert answer.pop("durationMs") >= 0
    assert answer == {"version": "1", "result": "ACTED", "status": 200}


def test_a_repeated_call_has_one_effect(either: Bench) -> None:
    either.call()
    either.call()
    (record,) = either.server.keys.values()
    assert (record.calls, record.effects) == (2, 1)
