"""Claims and records joined: each logical event once, with all the messages that told of it."""

import hashlib
import re
from typing import Any

from once.operate.asked import sentence
from once.operate.claims import Claim
from once.operate.explain import _event
from once.operate.story import Event, tell
from once.project import ROOT
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
    assert event.messages[1].text.endswith("; decided 1.0 s after message m1 acted")


def test_a_copy_of_a_second_integration_names_both() -> None:
    first = record("m1", "PROCESSED", "ACTED", 4_000, source="prod")
    copy = record("m2", "DUPLICATE", "SAME_KEY", 5_000, because="run#m1", source="prod-two")
    event = only(tell([first, copy], [claim()], NOW))
    assert event.messages[1].text == (
        "a second integration, prod-two, sent it as well as prod; decided 1.0 s after message m1 "
        "acted"
    )


def test_what_a_person_dropped_says_so_and_when_until_it_is_claimed_once_more() -> None:
    parked = record("m1", "PARKED", "REJECTED", 1_000)
    dropped = claim(status="FAILED", outcome="PARKED", dropped_at=61_000)
    event = only(tell([parked], [dropped], NOW))
    assert event.verdict == (
        "dropped by a person on 1970-01-01 00:01:01 UTC (once parked drop); was parked: the "
        "destination refused it for good"
    )
    assert event.dropped_at_ms == 61_000
    again = record("m2", "PROCESSED", "ACTED", 90_000)
    assert only(tell([parked, again], [claim("run#m2")], NOW)).verdict == "acted once"


def test_a_copy_that_was_logged_before_what_acted_was_decided_at_the_same_time() -> None:
    copy = record("m2", "DUPLICATE", "SAME_KEY", 3_990, because="run#m1")
    event = only(tell([copy, record("m1", "PROCESSED", "ACTED", 4_000)], [claim()], NOW))
    assert "decided at the same time as message m1 acted" in event.messages[0].text


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
    assert verdict.endswith("is it dead? once dead-letters list")


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
    assert event.verdict == "acted twice"


def test_how_late_it_acted_is_said_unless_it_is_a_replay_of_old_times() -> None:
    late = record("m1", "PROCESSED", "ACTED", 1_000, ageMs=1_234)
    assert only(tell([late], [], NOW)).verdict == "acted once, 1.2 s after it happened"
    later = record("m1", "PROCESSED", "ACTED", 1_000, ageMs=3_021_800)
    assert only(tell([later], [], NOW)).verdict == "acted once, 50 min after it happened"
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
    assert [one.reason for one in event.messages[0].deliveries] == ["ACTED", "SETTLED_BEFORE"]


def test_what_waits_says_why_and_when_it_comes_back() -> None:
    failed = record(
        "m1", "RETRY", "CALL_FAILED", NOW, returnsAtMs=NOW + 60_000, tries=3, status=502
    )
    assert only(tell([failed], [], NOW)).verdict == (
        "not settled yet: the destination failed it: HTTP 502; 3 of its tries (MaxTries) are "
        "spent; "
        "comes back at 00:17:40"
    )
    assert only(tell([failed], [], NOW + 61_000)).verdict.endswith("it is due now")


def test_what_was_given_up_says_the_last_answer_and_when() -> None:
    given_up = record(
        "m1", "PARKED", "GAVE_UP", NOW, tries=20, failedAtMs=NOW, cause="no answer in 8 s"
    )
    assert only(tell([given_up], [], NOW)).verdict == (
        "parked: given up after 20 tries (MaxTries), while the destination answered others: "
        "no answer in 8 s; last called on 1970-01-01 00:16:40 UTC"
    )


KEY = hashlib.sha256(f"{PK}\n{SK}".encode()).hexdigest()


def acted(message_id: str, at: int, key: str = KEY, **more: Any) -> OutcomeRecord:
    return record(message_id, "PROCESSED", "ACTED", at, calls=1, idempotencyKey=key, **more)


def test_who_was_asked_once_is_asked_once() -> None:
    assert only(tell([acted("m1", 1_000)], [claim()], NOW)).asked is None


def test_a_destination_asked_again_after_a_failure_is_told_under_one_key() -> None:
    failed = record("m1", "RETRY", "CALL_FAILED", 1_000, calls=2, cause="no answer in 8 s")
    event = only(tell([failed, acted("m1", 62_000)], [claim()], NOW))
    assert event.asked is not None
    assert sentence(event.asked) == (
        f"the destination was asked 3 times under Idempotency-Key {KEY}: a call that failed may "
        "have acted all the same: a destination that does not remember keys may have acted 3 times"
    )
    assert event.verdict == "acted; asked 3 times, and may have acted more than once"
    assert event.in_doubt


def test_calls_none_of_which_is_known_to_have_acted_are_said_in_one_sentence() -> None:
    failed = [
        record("m1", "RETRY", "CALL_FAILED", at, calls=2, status=503) for at in (1_000, 9_000)
    ]
    event = only(tell(failed, [], NOW))
    assert event.asked is not None
    assert sentence(event.asked).startswith("the destination was asked 4 times under")
    assert "none of these calls is known to have acted, and each may have" in sentence(event.asked)


def test_the_key_is_known_before_anything_acted() -> None:
    failed = record("m1", "RETRY", "CALL_FAILED", 1_000, calls=2)
    asked = only(tell([failed], [], NOW)).asked
    assert asked is not None
    assert asked.keys == [KEY]


def test_an_event_that_was_called_once_has_its_key_also_where_it_was_refused() -> None:
    refused = record("m1", "PARKED", "REJECTED", 1_000, calls=1, status=422)
    for called in (refused, acted("m1", 1_000)):
        assert only(tell([called], [], NOW)).idempotency_keys == [KEY]
    parked = record("m1", "PARKED", "NO_TIME", 1_000)
    assert only(tell([parked], [], NOW)).idempotency_keys == []


def test_what_failed_after_it_was_forgotten_has_the_key_of_both_calls() -> None:
    """In the destination's log stand two, and only the first is recorded."""
    opened = claim("run#m2", "FAILED", occurrence=-500_000, outcome="RETRY")
    failed = record("m2", "RETRY", "CALL_FAILED", 600_000, calls=1)
    event = only(tell([acted("m1", 1_000), failed], [opened], NOW))
    assert event.idempotency_keys == [KEY, f"{KEY}.500000"]


def test_what_a_limit_refused_did_not_act() -> None:
    refused = record("m1", "RETRY", "RATE_LIMITED", 1_000, calls=1, status=429)
    asked = only(tell([refused, acted("m1", 2_000)], [claim()], NOW)).asked
    assert asked is not None
    assert sentence(asked) == (
        f"the destination was asked twice under Idempotency-Key {KEY}: what it refused did not act"
    )


def test_a_lost_mark_is_named_as_the_cause_of_a_second_act() -> None:
    event = only(tell([acted("m1", 1_000, unmarked=True), acted("m1", 900_000)], [claim()], NOW))
    assert event.verdict == "acted twice"
    assert event.asked is not None
    assert "the mark of the first was lost" in event.asked.meaning
    assert "does not remember keys acted twice" in event.asked.meaning


def test_an_act_without_its_mark_says_that_a_copy_may_ask_again() -> None:
    event = only(tell([acted("m1", 1_000, unmarked=True)], [claim()], NOW))
    assert event.verdict == (
        "acted once; its mark was lost, so a copy may ask again with the same Idempotency-Key"
    )


def test_what_was_opened_on_purpose_shows_when_and_both_keys() -> None:
    again = claim("run#m2", occurrence=-500_000)
    event = only(tell([acted("m1", 1_000), acted("m2", 600_000, f"{KEY}.500000")], [again], NOW))
    assert event.asked is not None
    assert event.asked.keys == [KEY, f"{KEY}.500000"]
    assert event.asked.meaning == (
        "somebody opened it on purpose on 1970-01-01 00:08:20 UTC (once forget): it acted again, "
        "as a new one"
    )


def test_both_acts_of_what_was_opened_on_purpose_have_their_time_and_key() -> None:
    again = claim("run#m2", occurrence=-500_000)
    event = only(tell([acted("m1", 1_000), acted("m2", 600_000, f"{KEY}.500000")], [again], NOW))
    assert event.verdict == "acted twice; somebody opened it on purpose on 1970-01-01 00:08:20 UTC"
    said = [text for _, _, text in _event(event, unfolded=False)]
    assert f"m1 PROCESSED, 1 call acted, Idempotency-Key {KEY}" in said
    assert f"m2 PROCESSED, 1 call acted, Idempotency-Key {KEY}.500000" in said


def test_what_fails_after_it_was_forgotten_is_not_settled_though_it_had_acted() -> None:
    opened = claim("run#m2", "FAILED", occurrence=-500_000, outcome="RETRY")
    failed = record(
        "m2", "RETRY", "CALL_FAILED", 600_000, calls=2, cause="no answer", returnsAtMs=NOW + 5_000
    )
    event = only(tell([acted("m1", 1_000), failed], [opened], NOW))
    assert event.outcome == "RETRY"
    assert event.verdict == (
        "acted once, and then not settled yet: no answer; comes back at 00:16:45"
    )


def test_a_failed_call_is_known_before_its_batch_is_recorded() -> None:
    failed = claim(status="FAILED", outcome="RETRY", failed_at=62_000, cause="no answer in 8 s")
    event = only(tell([], [failed], NOW))
    assert (event.text, event.outcome) == ("customer arrives", "RETRY")
    assert event.verdict == "not settled yet: called at 00:01:02: no answer in 8 s"


def test_a_copy_collapsed_into_a_parked_event_is_no_event_of_its_own() -> None:
    event = only(
        tell(
            [
                record("m1", "PARKED", "REJECTED", 1_000),
                record("m2", "PARKED", "COLLAPSED", 1_001, copyOf="m1"),
            ],
            [],
            NOW,
        )
    )
    assert event.verdict == "parked: the destination refused it for good"
    assert "in the same batch" in event.messages[1].text


def test_of_messages_logged_at_the_same_moment_the_one_that_acted_comes_first() -> None:
    copy = record("m0", "DUPLICATE", "SAME_KEY", 4_000, because="run#m1")
    event = only(tell([copy, record("m1", "PROCESSED", "ACTED", 4_000)], [claim()], NOW))
    assert [message.message_id for message in event.messages] == ["m1", "m0"]


def said_of(records: list[OutcomeRecord], *claims: Claim) -> list[str]:
    """All that explain says of them, event by event."""
    events = tell(records, claims, NOW)
    asked = [sentence(one.asked) for one in events if one.asked]
    below = [message.text for event in events for message in event.messages]
    return [*(event.verdict for event in events), *asked, *below]


def test_what_the_runbook_quotes_is_what_explain_says() -> None:
    failed = record("m1", "RETRY", "CALL_FAILED", 1_000, calls=2, cause="no answer in 8 s")
    newer = record("m2", "PROCESSED", "ACTED", 1_000, sk=SK + "2", occurredAtMs=61_000)
    said = [
        *said_of([acted("m1", 1_000)], claim()),
        *said_of([acted("m1", 1_000), acted("m2", 9_000, f"{KEY}.5")], claim(occurrence=-5_000)),
        *said_of([failed, acted("m1", 62_000)], claim()),
        *said_of([failed]),
        *said_of([acted("m1", 1_000), acted("m2", 9_000)], claim("run#m2")),
        *said_of([acted("m1", 1_000, unmarked=True), acted("m1", 9_000)], claim()),
        *said_of([newer, record("m1", "STALE", "NEWER_STATE", 2_000, because="run#m2")]),
        *said_of([record("m1", "PARKED", "REJECTED", 1_000)]),
        *said_of([record("m1", "PROCESSED", "OBSERVED", 1_000)]),
        *said_of(
            [record("m1", "PARKED", "REJECTED", 1_000)],
            claim(status="FAILED", outcome="PARKED", dropped_at=2_000),
        ),
        *said_of(
            [
                record("m1", "PROCESSED", "ACTED", 1_000, source="prod"),
                record("m2", "DUPLICATE", "SAME_KEY", 2_000, because="run#m1", source="prod-two"),
            ]
        ),
    ]
    page = (ROOT / "docs/runbook.md").read_text().partition("### A customer got two, or none\n")[2]
    quoted = re.findall(r"`([^`]+)`", page.partition("\n### ")[0])
    sentences = {
        " ".join(one.split())
        for one in quoted
        if " " in one or one == "parked"
        if not one.startswith("once ")
    }
    assert "acted twice" in sentences
    unsaid = set()
    for quote in sentences:
        parts = [re.escape(part) for part in re.split(r"…|\bN\b", quote)]
        if not any(re.search(".+".join(parts).removesuffix(".+"), one) for one in said):
            unsaid.add(quote)
    assert unsaid == {"Nothing is known of …"}, "that one needs a stack to be said"
