"""A deletion is final, so it takes only messages that are named by their own id."""

import pytest

from once.errors import NotFoundError
from once.operate.dead_ends import Chosen, Place, Stuck
from once.operate.queues import QueuedMessage


def dead_letter(message_id: str, body: str) -> Stuck:
    message = QueuedMessage(message_id, body, 0, {}, "receipt")
    return Stuck(
        message_id=message_id,
        place=Place.QUEUE,
        reason="CALL_FAILED",
        text="an event",
        sent_at_ms=0,
        message=message,
    )


def test_a_dead_letter_that_only_mentions_an_id_is_found_and_not_dropped() -> None:
    letters = [dead_letter("m1", '{"queueId": "q1"}'), dead_letter("m2", '{"userId": "u1"}')]
    assert Chosen(["q1"]).find(letters) == letters[:1]
    drop = Chosen(["q1"], in_bodies=False)
    assert drop.find(letters) == []
    assert drop.find_unknown(letters) == ["q1"]
    assert Chosen(["m2"], in_bodies=False).find(letters) == letters[1:]


def test_an_id_is_known_by_the_beginning_that_explain_prints() -> None:
    letters = [dead_letter(f"88dd3369-0000-4000-8000-00000000000{end}", "{}") for end in "12"]
    one = Chosen(["88dd3369"], in_bodies=False).complete_ids(letters[:1])
    assert (one.find(letters), one.find_unknown(letters)) == (letters[:1], [])
    with pytest.raises(NotFoundError, match="2 ids begin with 88dd3369"):
        Chosen(["88dd3369"]).complete_ids(letters)
    other = Chosen(["88dd336", "m1"]).complete_ids(letters)
    assert other.find_unknown(letters) == ["88dd336", "m1"], "too short is no id"
