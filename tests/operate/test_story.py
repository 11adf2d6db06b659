"""Claims and records joined: each logical event once, with all the messages that told of it."""

from typing import Any

from once.operate.claims import Claim
from once.operate.story import Event, tell
from once.records import OutcomeRecord

PK = "org/conversation/c1"
SK = "v1/conversation.customer.start/p/s/1000"
NOW = 1_000_000


def record(message_id: str, outcome: str, reason: str, at: int, **more: Any) -> OutcomeRecord:
    said = {"pk": PK, "sk": SK, "family": "conversation.customer.start", "occurredAtMs": 1_000}
    said |= {"messageId": message_id, "outcome": outcome, "reason": reason, "recordedAtMs": at}
    return OutcomeRecord.model_validate({**said, **more})


def claim(owner: str = "run#m1", status: str = "DONE", **more: Any) -> Claim:
    row = {
        "pk": PK,
        "sk": SK,
        "status": status,
        "owner": owner,
        "message_id": owner.rpartition("#")[2],
        "event_time": 1_000,
        "occurrence": 1_000,
        "claimed_at": 2_000,
        "lease_until": NOW + 9_000,
        "expires_at": 9_999,
        "family": "conversation.customer.start",
        "topic": "v2.detail.events.conversation.c1.customer.start",
        "outcome": "PROCESSED" if status == "DONE" else None,
    }
    return Claim.model_validate({**row, **more})


def only(events: list[Event]) -> Event:
    (event,) = events
    return event


def test_a_copy_belongs_to_the_event_that_acted_and_names_it() -> None:
    event = only(
        tell(
            [
                record("m2", "DUPLICATE", "SAME_KEY", 5_000, because="run#m1"),
                record("m1", "PROCESSED", "ACTED", 4_000),
            ],
            [claim()],
            NOW,
        )
    )
    assert (event.text, event.verdict) == ("customer arrives", "acted once")
    assert event.execution == "run"
    assert [(m.message_id, m.because_of) for m in event.messages] == [("m1", None), ("m2", "m1")]
    assert "1.0 s after" in event.messages[1].text


def test_a_copy_that_was_logged_before_what_acted_was_decided_at_the_same_time() -> None:
    copy = record("m2", "DUPLICATE", "SAME_KEY", 3_990, because="run#m1")
    event = only(tell([copy, record("m1", "PROCESSED", "ACTED", 4_000)], [claim()], NOW))
    assert "decided at the same time" in event.messages[0].text


def test_a_message_handed_back_and_overtaken_by_its_copy_belongs_to_what_acted() -> None:
    event = only(
        tell(
            [
                record("m1", "RETRY", "CALL_FAILED", 1_000),
                record("m2", "PROCESSED", "ACTED", 2_000),
            ],
            [claim("run#m2")],
            NOW,
        )
    )
    assert event.verdict == "acted once"
    assert [message.message_id for message in event.messages] == ["m1", "m2"]


def test_what_was_not_tried_for_long_may_be_dead() -> None:
    failed = record("m1", "RETRY", "SETUP_FAULT", 1_000)
    assert only(tell([failed], [], 60_000)).verdict.startswith("not settled yet: credentials")
    verdict = only(tell([failed], [], 8 * 3_600_000)).verdict
    assert verdict.startswith("not settled, and not tried for 7 h: credentials, address")
    assert verdict.endswith("once dead-letters list m1")


def test_what_was_parked_and_replayed_is_one_event() -> None:
    event = only(
        tell(
            [
                record("m1", "PARKED", "REJECTED", 1_000),
                record("m2", "PROCESSED", "ACTED", 2_000),
            ],
            [claim("run#m2")],
            NOW,
        )
    )
    assert event.verdict == "acted once"
    assert event.messages[0].text == "the destination refused it for good"


def test_acting_twice_is_said() -> None:
    event = only(
        tell(
            [record("m1", "PROCESSED", "ACTED", 1_000), record("m2", "PROCESSED", "ACTED", 2_000)],
            [claim("run#m2")],
            NOW,
        )
    )
    assert event.verdict == "acted 2 times"


def test_how_late_it_acted_is_said_unless_it_is_a_replay_of_old_times() -> None:
    late = record("m1", "PROCESSED", "ACTED", 1_000, ageMs=1_234)
    assert only(tell([late], [], NOW)).verdict == "acted once, 1.2 s after it happened"
    replayed = record("m1", "PROCESSED", "ACTED", 1_000, ageMs=86_400_001)
    assert only(tell([replayed], [], NOW)).verdict == "acted once"


def test_a_windowed_state_that_came_again_is_two_events() -> None:
    events = tell(
        [
            record("m1", "PROCESSED", "ACTED", 1_000, windowMs=500),
            record("m2", "DUPLICATE", "SAME_KEY", 1_100, windowMs=500, because="run#m1"),
            record("m3", "PROCESSED", "ACTED", 9_000, windowMs=500, occurredAtMs=8_000),
        ],
        [claim("run#m3", event_time=8_000)],
        NOW,
    )
    assert [[m.message_id for m in event.messages] for event in events] == [["m1", "m2"], ["m3"]]
    assert [event.verdict for event in events] == ["acted once", "acted once"]


def test_a_stale_event_names_the_newer_one_and_when_it_happened() -> None:
    newer = record("m2", "PROCESSED", "ACTED", 1_000, sk=SK + "2", occurredAtMs=61_000)
    stale = record("m1", "STALE", "NEWER_STATE", 2_000, because="run#m2")
    events = tell([newer, stale], [], NOW)
    assert events[0].verdict == "skipped, older than customer arrives, which had happened at " + (
        "00:01:01.000"
    )


def test_a_claim_without_records_still_tells_its_end() -> None:
    event = only(tell([], [claim()], NOW))
    assert (event.verdict, event.messages) == ("acted once", [])


def test_a_held_claim_says_until_when() -> None:
    held = record("m2", "RETRY", "HELD", 5_000, because="run#m1")
    event = only(tell([held], [claim(status="IN_PROGRESS")], NOW))
    assert event.verdict == "being worked on; should its holder have died, it is free in 10 s"
    assert event.messages[0].because_of == "m1"


def test_a_dead_holder_is_called_dead() -> None:
    event = only(tell([], [claim(status="IN_PROGRESS", lease_until=NOW - 1)], NOW))
    assert event.verdict == "its holder died; the next delivery takes it over"


def test_a_forgotten_claim_says_so() -> None:
    event = only(tell([], [claim(status="FAILED", occurrence=-NOW)], NOW))
    assert event.verdict == (
        "forgotten on purpose on 1970-01-01 00:16:40 UTC: its next copy acts again"
    )


def test_broken_messages_stand_each_for_itself() -> None:
    broken = [record(m, "PARKED", "NOT_JSON", 1_000, pk=None, sk=None) for m in ("m1", "m2")]
    events = tell(broken, [], NOW)
    assert [event.verdict for event in events] == ["parked: its text is not JSON"] * 2
    assert [event.key for event in events] == [None, None]


def test_a_redelivery_after_the_end_changes_nothing() -> None:
    event = only(
        tell(
            [
                record("m1", "PROCESSED", "ACTED", 1_000),
                record("m1", "PROCESSED", "SETTLED_BEFORE", 2_000, because="run#m1"),
            ],
            [claim()],
            NOW,
        )
    )
    assert event.verdict == "acted once"
    assert event.messages[0].text == "delivered 2 times"
