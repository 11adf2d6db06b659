"""Events and reasons in words, for every reason that the state machine or the enrichment gives."""

import re

import pytest
from enrichment.elements import ParkedReason, RetryReason

from once.operate import phrases as words
from proof.definition.asl import ASL_PATH


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
    assert words.event(family, f"org/conversation/c1/{sk}") == said


def test_every_reason_of_the_machine_and_the_enrichment_is_put_in_words() -> None:
    given = set(re.findall(r"['\"]reason['\"]: ?['\"]([A-Z_]+)['\"]", ASL_PATH.read_text()))
    given |= set(re.findall(r"\"heldBack\": \"([A-Z_]+)\"", ASL_PATH.read_text()))
    assert {"ACTED", "HELD", "REJECTED", "LIMITED", "NOT_REACHED"} <= given
    given |= set(RetryReason) | set(ParkedReason)
    # These say why a message is a copy; that is told by its cause, which knows more.
    given -= {"SAME_KEY", "SAME_EVENT_ID", "SETTLED_BEFORE", "COLLAPSED"}
    given -= {"NEWER_STATE", "NEWER_OCCURRENCE"}
    assert {code for code in given if code not in words.REASONS} == set()


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [(1_400, "1 s"), (119_000, "119 s"), (7_200_000, "2 h"), (432_000_000, "5 d")],
)
def test_an_age(milliseconds: int, said: str) -> None:
    assert words.age(milliseconds) == said
