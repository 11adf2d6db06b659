"""Keys and times as people type and read them."""

import pytest
from once_enrichment.families import BY_TOPIC
from once_enrichment.topics import family_name

from once.errors import OnceError
from once.model import words
from once.model.claims import row_key
from once.model.keys import IdempotencyKey, Key, Owner, Subject
from once.model.outcomes import SIGN, Outcome

NOW_MS = 1_800_000_000_000


@pytest.mark.parametrize(
    "text", ["org/user/a b/v2/user.presence/x", "org/user/a b v2/user.presence/x"]
)
def test_a_key_is_read_as_commands_and_parked_bodies_write_it(text: str) -> None:
    key = Key.parse(text)
    assert key is not None
    assert (key.subject.id, key.family) == ("a b", "user.presence")
    assert str(key) == "org/user/a b/v2/user.presence/x"


def test_a_subject_is_no_key() -> None:
    assert Key.parse("org/user/id") is None
    assert Subject.parse("org/user/a/b") == Subject("org", "user", "a/b")


def test_a_row_of_dynamodb_has_both_parts_of_its_key() -> None:
    row = {"pk": {"S": "org/user/id"}, "sk": {"S": "v2/f/x"}}
    assert row_key(Key.of_row("org/user/id", "v2/f/x")) == row


def test_each_outcome_has_a_sign_of_its_own() -> None:
    assert SIGN.keys() == {*Outcome}
    assert {len(sign) for sign in SIGN.values()} == {1}
    assert len({*SIGN.values()}) == len(SIGN)


def test_a_long_id_is_shortened_and_a_sentence_begins_with_a_capital() -> None:
    text = "user 0c2d7f4e-5b1a-4f6e-9d3c-8a7b6c5d4e3f waits"
    assert words.shorten_ids(text) == "user 0c2d7f4e waits"
    assert words.capitalise("once more") == "Once more"


def test_an_owner_names_its_execution_and_first_message() -> None:
    owner = Owner.parse("5d2b:1#b0c1")
    assert (owner.execution, owner.message_id) == ("5d2b:1", "b0c1")


def test_an_idempotency_key_may_name_an_occurrence() -> None:
    key = IdempotencyKey.parse("a" * 64 + ".17")
    assert key is not None
    assert key.occurrence_ms == 17
    assert IdempotencyKey.parse("a" * 63) is None


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2h", NOW_MS - 7_200_000),
        ("2027-01-15T08:00", NOW_MS),
        ("2027-01-15T10:00+02:00", NOW_MS),
    ],
)
def test_a_time_is_read_in_utc_unless_it_has_an_offset(text: str, ms: int) -> None:
    assert words.parse_since(text, NOW_MS) == ms


def test_another_text_is_no_time() -> None:
    with pytest.raises(OnceError):
        words.parse_since("yesterday", NOW_MS)


def test_an_event_is_named_by_family_and_state() -> None:
    assert words.describe_event("user.routingStatus", "IDLE") == "routing status: IDLE"
    assert words.describe_event("garden.bed", None) == "garden bed"


@pytest.mark.parametrize(
    "family",
    sorted(name for name in map(family_name, BY_TOPIC) if name.startswith("conversation.")),
)
def test_each_event_of_a_conversation_has_words_of_its_own(family: str) -> None:
    assert words.describe_event(family, None) != family.replace(".", " ")
