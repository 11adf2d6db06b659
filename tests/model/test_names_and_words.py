"""Keys and times as people type and read them."""

import pytest
from once_enrichment.families import BY_TOPIC, family_name

from once.errors import OnceError
from once.model import words
from once.model.reasons import SIGN, Outcome
from once.model.records import Key, Subject, read_rows
from tests.model.support import PK, claim

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


def test_the_rows_of_a_subject_are_its_claims_in_order_and_its_newest_states() -> None:
    dumped = [claim("a", event_time=at_ms).model_dump(exclude_none=True) for at_ms in (9, 5)]
    state = {"pk": PK, "sk": "latest/user.presence", "event_time": 7, "expires_at": 1}
    rows = [{name: {"S": str(value)} for name, value in row.items()} for row in (*dumped, state)]
    claims, latest = read_rows(rows)
    assert [row.event_time for row in claims] == [5, 9]
    assert [row.event_time for row in latest] == [7]


def test_each_outcome_has_a_sign_of_its_own() -> None:
    assert SIGN.keys() == {*Outcome}
    assert {len(sign) for sign in SIGN.values()} == {1}
    assert len({*SIGN.values()}) == len(SIGN)


def test_a_long_id_is_shortened_and_a_sentence_begins_with_a_capital() -> None:
    text = "user 0c2d7f4e-5b1a-4f6e-9d3c-8a7b6c5d4e3f waits"
    assert words.shorten_ids(text) == "user 0c2d7f4e waits"
    assert words.capitalise("once more") == "Once more"


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


@pytest.mark.parametrize(
    ("text", "ms"),
    [("30s", 30_000), (" 5m ", 300_000), ("2h", 7_200_000), ("1d", 86_400_000), ("5", None)],
)
def test_a_duration_has_a_unit(text: str, ms: int | None) -> None:
    assert words.parse_duration(text) == ms


@pytest.mark.parametrize(
    ("ms", "age"),
    [
        (-5_000, "0 s"),
        (119_000, "119 s"),
        (120_000, "2 min"),
        (7_199_000, "119 min"),
        (7_200_000, "2 h"),
        (172_800_000, "2 d"),
    ],
)
def test_an_age_is_in_the_largest_unit_of_which_there_are_two(ms: int, age: str) -> None:
    assert words.format_age(ms) == age


def test_numbers_are_put_in_words() -> None:
    assert [*map(words.format_duration, (59_940, 60_000))] == ["59.9 s", "60 s"]
    assert words.count(2_000, "event") == "2,000 events"
    assert words.count_times(3) == "3 times"


def test_words_are_those_of_a_family() -> None:
    custom = {"agent.state", "broken", "conversation.status.change"}
    assert {*words._FAMILIES} <= {*map(family_name, BY_TOPIC), *custom}


def test_another_text_is_no_time() -> None:
    with pytest.raises(OnceError):
        words.parse_since("yesterday", NOW_MS)


@pytest.mark.parametrize(
    ("family", "name"),
    [
        ("user.presence", "presence"),
        ("user.activity", "activity"),
        ("user.station", "station"),
        ("conversation.status.change", "status"),
        ("garden.bed", "garden bed"),
    ],
)
def test_an_event_is_named_by_family_and_state(family: str, name: str) -> None:
    assert words.describe_event(family, "IDLE") == f"{name}: IDLE"
    assert words.describe_event(family, None) == name


@pytest.mark.parametrize(
    "family",
    sorted(name for name in map(family_name, BY_TOPIC) if name.startswith("conversation.")),
)
def test_each_event_of_a_conversation_has_words_of_its_own(family: str) -> None:
    assert words.describe_event(family, None) != family.replace(".", " ")
