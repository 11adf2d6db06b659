"""Events, counts, times and ages in words."""

import pytest
from once_enrichment.families import BY_TOPIC
from once_enrichment.topics import family_name

from once.keys import Key
from once.operate import phrases as words


@pytest.mark.parametrize(
    ("family", "sk", "said"),
    [
        ("conversation.customer.start", "v1/f/p/s/1", "customer arrives"),
        (
            "user.presence",
            "v1/f/u1/1/presenceDefinition.systemPresence=MEAL/source=PURECLOUD/primary=True",
            "presence: MEAL",
        ),
        ("user.presence", "v1/f/source=TEAMS/primary=False", "presence: TEAMS, not primary"),
        (
            "conversation.user.start",
            "v1/f/p/s/1/userId=4038568b-b646/queueId=814854fe-da91",
            "agent is offered it (agent 4038568b, queue 814854fe)",
        ),
        (
            "routing.queue.users",
            "v1/f/u1/joined=True/user.id=4038568b-b646",
            "member of the queue: joined (agent 4038568b)",
        ),
        ("conversation.acd.end", "v1/f/acdOutcome=ABANDON/userId=", "leaves the queue: ABANDON"),
        ("conversation.wrapup", "v1/f/p/userId=~/queueId=814854fe", "wrapped up (queue 814854fe)"),
        (
            "user.routingStatus",
            "v1/f/1/routingStatus.status=OFF_QUEUE",
            "routing status: OFF_QUEUE",
        ),
        ("routing.queue.users", "v1/f/u1/joined=true", "member of the queue: joined"),
        ("routing.queue.users", "v1/f/u1/joined=false", "member of the queue: not joined"),
        ("conversation.status.change", "v1/f/status=on%20hold", "status: on hold"),
        ("somewhat.new", "v1/f/~0a1b", "somewhat new"),
    ],
)
def test_an_event_in_words(family: str, sk: str, said: str) -> None:
    key = Key.of_row("org/conversation/c1", sk.replace("/f", f"/{family}", 1))
    assert words.describe_event(key) == said


def test_the_families_with_words_of_their_own_are_families_that_exist() -> None:
    named = {"conversation.status.change", "agent.state"}
    assert words._FAMILIES.keys() - named <= set(map(family_name, BY_TOPIC))


def test_every_event_of_a_conversation_has_words_of_its_own() -> None:
    declared = set(map(family_name, BY_TOPIC))
    assert {n for n in declared if n.startswith("conversation.")} <= words._FAMILIES.keys()


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 events"), (1, "1 event"), (2, "2 events"), (12_345, "12,345 events")]
)
def test_a_number_of_events(count: int, said: str) -> None:
    assert words.count_events(count) == said


def test_a_moment_is_written_in_utc_with_its_milliseconds() -> None:
    assert words.format_time(1_741_770_000_123) == "2025-03-12 09:00:00.123"
    assert words.format_clock(1_741_770_000_000) == "09:00:00.000"


def test_a_long_id_is_shown_by_its_beginning() -> None:
    key = "020b01597575c23795cebb5967030a270d0a6366f913c29728b82acb03230de6"
    message = "56153b35-99d6-447a-b368-593a7ccc1be4"
    assert words.shorten_ids(f"{message} acted, key {key}.17") == "56153b35 acted, key 020b0159.17"
    assert words.shorten_ids("lost-0 at 2026-11-18") == "lost-0 at 2026-11-18"


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(1_400, "1 s"), (119_000, "119 s"), (7_200_000, "2 h"), (432_000_000, "5 d")],
)
def test_an_age(milliseconds: int, said: str) -> None:
    assert words.format_age(milliseconds) == said
