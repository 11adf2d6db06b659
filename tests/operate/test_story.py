"""Claims and records joined: each logical event once, with all the messages that told of it."""

import re
from types import SimpleNamespace
from typing import Any

import pytest

from once.keys import Key, Owner
from once.operate import explain
from once.operate.claims import Claim
from once.operate.explain import say_unknown, view_deliveries
from once.operate.pace import Breaker, State
from once.operate.story import MEANING, Cause, Event, summarise, tell
from once.outcomes import Outcome
from once.project import ROOT
from once.reasons import describe
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
        "message_id": Owner.parse(owner).message_id,
        "event_id": "",
        "event_time": 1_000,
        "occurrence": 1_000,
        "tries": 0,
        "failed_at": 0,
        "copies": 0,
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
    assert (event.text, event.verdict) == ("customer arrives", "acted on")
    assert event.owner == "run#m1"
    assert [(m.message_id, m.because_of) for m in event.messages] == [("m1", None), ("m2", "m1")]
    assert event.messages[1].text.endswith("; decided 1.0 s after message m1 was acted on")


def test_a_copy_of_a_second_integration_names_both() -> None:
    first = record("m1", "PROCESSED", "ACTED", 4_000, source="prod")
    copy = record("m2", "DUPLICATE", "SAME_KEY", 5_000, because="run#m1", source="prod-two")
    event = only(tell([first, copy], [claim()], NOW))
    assert event.messages[1].text == (
        "a second integration, prod-two, sent it as well as prod; decided 1.0 s after message m1 "
        "was acted on"
    )


def test_what_a_person_dropped_says_so_and_when_until_it_is_claimed_once_more() -> None:
    parked = record("m1", "PARKED", "REJECTED", 1_000)
    dropped = claim(status="FAILED", outcome="PARKED", dropped_at=61_000)
    event = only(tell([parked], [dropped], NOW))
    assert event.verdict == (
        "dropped by an operator on 1970-01-01 00:01:01 UTC (once parked drop); was parked: the "
        "destination permanently rejected it"
    )
    assert event.dropped_at_ms == 61_000
    again = record("m2", "PROCESSED", "ACTED", 90_000)
    assert only(tell([parked, again], [claim("run#m2")], NOW)).verdict == "acted on"


def test_a_copy_logged_before_the_act_was_decided_at_the_same_time() -> None:
    copy = record("m2", "DUPLICATE", "SAME_KEY", 3_990, because="run#m1")
    event = only(tell([copy, record("m1", "PROCESSED", "ACTED", 4_000)], [claim()], NOW))
    assert "decided at the same time as message m1 was acted on" in event.messages[0].text


def test_a_returned_message_that_its_copy_overtook_belongs_to_the_act() -> None:
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
    assert event.verdict == "acted on"
    assert [message.message_id for message in event.messages] == ["m1", "m2"]


def test_what_was_not_tried_for_long_may_be_dead() -> None:
    failed = record("m1", "RETRY", "SETUP_FAULT", 1_000)
    assert only(tell([failed], [], 60_000)).verdict.startswith(
        "not settled yet: the destination's credentials"
    )
    verdict = only(tell([failed], [], 8 * 3_600_000)).verdict
    assert verdict.startswith("not settled, and not tried for 7 h: the destination's credentials")
    assert verdict.endswith("see: once dead-letters list")


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
    assert event.verdict == "acted on"
    assert event.messages[0].text == "the destination permanently rejected it"


def test_acting_twice_is_said() -> None:
    event = only(
        tell(
            [record("m1", "PROCESSED", "ACTED", 1_000), record("m2", "PROCESSED", "ACTED", 2_000)],
            [claim("run#m2")],
            NOW,
        )
    )
    assert event.verdict == "acted on twice"


def test_how_late_it_acted_is_said_unless_it_is_a_replay_of_old_times() -> None:
    late = record("m1", "PROCESSED", "ACTED", 1_000, ageMs=1_234)
    assert only(tell([late], [], NOW)).verdict == "acted on, 1.2 s after it happened"
    later = record("m1", "PROCESSED", "ACTED", 1_000, ageMs=3_021_800)
    assert only(tell([later], [], NOW)).verdict == "acted on, 50 min after it happened"
    replayed = record("m1", "PROCESSED", "ACTED", 1_000, ageMs=86_400_001)
    assert only(tell([replayed], [], NOW)).verdict == "acted on"


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
    assert [event.verdict for event in events] == ["acted on", "acted on"]


def test_a_stale_event_names_the_newer_one_and_when_it_happened() -> None:
    newer = record("m2", "PROCESSED", "ACTED", 1_000, sk=SK + "2", occurredAtMs=61_000)
    stale = record("m1", "STALE", "NEWER_STATE", 2_000, because="run#m2")
    events = tell([newer, stale], [], NOW)
    assert events[0].verdict == (
        "skipped: older than customer arrives, which happened at 00:01:01.000"
    )


def test_an_ignored_event_names_its_route() -> None:
    wanted = 'route "abandoned calls" wants body.acdOutcome ABANDON, this is ANSWERED'
    one = record("m1", "IGNORED", "NO_ROUTE_MATCHED", 2_000, cause=wanted, route="*")
    assert only(tell([one], [], NOW)).verdict == f"ignored: {wanted}"
    none = record("m1", "IGNORED", "ROUTE_IS_NONE", 2_000, route="no chats")
    assert only(tell([none], [], NOW)).verdict == "ignored: its route has the action none"


def test_expired_event_says_its_age_and_that_an_earlier_request_may_have_acted() -> None:
    failed = record("m1", "RETRY", "CALL_FAILED", 1_000, requests=1, cause="no answer in 8 s")
    late = record("m1", "IGNORED", "EXPIRED", 200_000, route="text message", occurredAtMs=1_000)
    said = only(tell([failed, late], [], NOW)).verdict
    assert 'too old for route "text message"' in said
    assert "may have been acted on" in said


def test_a_claim_without_records_still_tells_its_end() -> None:
    event = only(tell([], [claim()], NOW))
    assert (event.verdict, event.messages) == ("acted on", [])


def test_a_busy_claim_names_the_end_of_its_lease() -> None:
    held = record("m2", "RETRY", "HELD", 5_000, because="run#m1")
    event = only(tell([held], [claim(status="IN_PROGRESS")], NOW))
    assert event.verdict == "in progress; if the owner died, it is free in 10 s"
    assert event.messages[0].because_of == "m1"


def test_a_claim_past_its_lease_has_a_dead_owner() -> None:
    event = only(tell([], [claim(status="IN_PROGRESS", lease_until=NOW - 1)], NOW))
    assert event.verdict == "its owner died; the next delivery takes it over"


def test_a_forgotten_claim_says_so() -> None:
    event = only(tell([], [claim(status="FAILED", occurrence=-NOW)], NOW))
    assert event.verdict == (
        "`once forget` opened it on 1970-01-01 00:16:40 UTC: its next copy is acted on"
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
    assert event.verdict == "acted on"
    assert [one.reason for one in event.messages[0].deliveries] == ["ACTED", "SETTLED_BEFORE"]


def test_what_waits_says_why_and_when_it_comes_back() -> None:
    failed = record(
        "m1", "RETRY", "CALL_FAILED", NOW, returnsAtMs=NOW + 60_000, tries=3, status=502
    )
    assert only(tell([failed], [], NOW)).verdict == (
        "not settled yet: the request failed: HTTP 502; 3 of its tries (MaxTries) are spent; "
        "returns at 00:17:40"
    )
    assert only(tell([failed], [], NOW + 61_000)).verdict.endswith("it is due now")


def test_what_was_given_up_says_the_last_answer_and_when() -> None:
    given_up = record(
        "m1", "PARKED", "GAVE_UP", NOW, tries=20, failedAtMs=NOW, cause="no answer in 8 s"
    )
    assert only(tell([given_up], [], NOW)).verdict == (
        f"parked: {describe('GAVE_UP')}: no answer in 8 s; 20 tries; "
        "last request on 1970-01-01 00:16:40 UTC"
    )


KEY = str(Key.of_row(PK, SK).idempotency_key)


def acted(message_id: str, at: int, key: str = KEY, **more: Any) -> OutcomeRecord:
    return record(message_id, "PROCESSED", "ACTED", at, requests=1, idempotencyKey=key, **more)


def test_one_request_means_nothing_more() -> None:
    event = only(tell([acted("m1", 1_000)], [claim()], NOW))
    assert (event.requests, event.may_have_acted, event.meaning) == (1, 1, "")


def test_requests_that_may_have_been_acted_on_are_counted_under_one_key() -> None:
    failed = record("m1", "RETRY", "CALL_FAILED", 1_000, requests=2, cause="no answer in 8 s")
    event = only(tell([failed, acted("m1", 62_000)], [claim()], NOW))
    assert (event.requests, event.may_have_acted, event.acts) == (3, 3, 1)
    assert event.idempotency_keys == [KEY]
    assert event.meaning == ("a destination that stores no keys may have acted on it 3 times")
    assert event.verdict == "acted on; 3 requests, perhaps acted on more than once"
    assert event.is_in_doubt
    summed = "1 event: 1 acted on; 1 of 1 perhaps acted on more than once"
    assert summarise([event]) == summed, "the event counts once"


def test_requests_none_of_which_is_known_to_have_succeeded_may_each_have_been_acted_on() -> None:
    failed = [
        record("m1", "RETRY", "CALL_FAILED", at, requests=2, status=503) for at in (1_000, 9_000)
    ]
    event = only(tell(failed, [], NOW))
    assert event.may_have_acted == 4
    assert event.meaning.startswith("no request is known to have succeeded")


def test_a_function_that_fails_itself_may_have_sent_a_request() -> None:
    failed = record("m1", "RETRY", "FUNCTION_FAILED", 1_000, requests=1, cause="ImportError")
    event = only(tell([failed], [], NOW))
    assert event.verdict.startswith("not settled yet: the function that sends the request failed")
    assert "ImportError" in event.verdict
    assert event.may_have_acted == 1


def test_the_key_is_known_before_anything_succeeded() -> None:
    failed = record("m1", "RETRY", "CALL_FAILED", 1_000, requests=2)
    assert only(tell([failed], [], NOW)).idempotency_keys == [KEY]


def test_an_event_has_its_key_also_if_it_was_rejected() -> None:
    rejected = record("m1", "PARKED", "REJECTED", 1_000, requests=1, status=422)
    for requested in (rejected, acted("m1", 1_000)):
        assert only(tell([requested], [], NOW)).idempotency_keys == [KEY]
    parked = record("m1", "PARKED", "NO_TIME", 1_000)
    assert only(tell([parked], [], NOW)).idempotency_keys == []


def test_what_failed_after_it_was_forgotten_has_the_key_of_both_calls() -> None:
    """In the destination's log stand two, and only the first is recorded."""
    opened = claim("run#m2", "FAILED", occurrence=-500_000, outcome="RETRY")
    failed = record("m2", "RETRY", "CALL_FAILED", 600_000, requests=1)
    event = only(tell([acted("m1", 1_000), failed], [opened], NOW))
    assert event.idempotency_keys == [KEY, f"{KEY}.500000"]


def test_a_request_that_was_rate_limited_did_nothing() -> None:
    limited = record("m1", "RETRY", "RATE_LIMITED", 1_000, requests=1, status=429)
    event = only(tell([limited, acted("m1", 2_000)], [claim()], NOW))
    assert (event.requests, event.may_have_acted) == (2, 1)
    assert event.meaning == "the rejected requests did nothing"
    assert not event.is_in_doubt


def test_a_failed_completion_write_is_named_as_the_cause_of_a_second_act() -> None:
    twice = [acted("m1", 1_000, unconfirmed=True), acted("m1", 900_000)]
    event = only(tell(twice, [claim()], NOW))
    assert event.verdict == "acted on twice"
    assert "the first completion write failed" in event.meaning
    assert "stores no keys acted twice" in event.meaning


def test_an_act_without_its_completion_write_says_that_a_copy_repeats_it() -> None:
    event = only(tell([acted("m1", 1_000, unconfirmed=True)], [claim()], NOW))
    assert event.verdict == (
        "acted on; its completion write failed, so a copy repeats it with the same Idempotency-Key"
    )


def test_an_event_that_was_opened_on_purpose_shows_when_and_both_keys() -> None:
    again = claim("run#m2", occurrence=-500_000)
    event = only(tell([acted("m1", 1_000), acted("m2", 600_000, f"{KEY}.500000")], [again], NOW))
    assert event.idempotency_keys == [KEY, f"{KEY}.500000"]
    opened = "`once forget` opened it on 1970-01-01 00:08:20 UTC"
    assert event.meaning.endswith(opened)
    assert event.verdict == f"acted on twice; {opened}"
    said = [text for one in event.messages for _, text in view_deliveries(one, every=False)]
    assert any(f"Idempotency-Key {KEY}.500000" in one for one in said)


def test_what_fails_after_it_was_forgotten_is_not_settled_though_it_had_acted() -> None:
    opened = claim("run#m2", "FAILED", occurrence=-500_000, outcome="RETRY")
    failed = record(
        "m2",
        "RETRY",
        "CALL_FAILED",
        600_000,
        requests=2,
        cause="no answer",
        returnsAtMs=NOW + 5_000,
    )
    event = only(tell([acted("m1", 1_000), failed], [opened], NOW))
    assert event.outcome == "RETRY"
    assert event.verdict == ("acted on, and then not settled yet: no answer; returns at 00:16:45")


def test_an_event_parked_after_forget_reads_as_parked() -> None:
    parked = record("m2", "PARKED", "REJECTED", 600_000)
    ended = claim("run#m2", occurrence=-500_000, outcome="PARKED")
    event = only(tell([acted("m1", 1_000), parked], [ended], NOW))
    assert event.outcome == "PARKED"
    assert event.verdict == ("acted on, and then parked: the destination permanently rejected it")
    acts = claim("run#m1")
    assert only(tell([acted("m1", 1_000), parked], [acts], NOW)).verdict == "acted on"


def test_a_failed_request_is_known_before_its_batch_is_recorded() -> None:
    failed = claim(status="FAILED", outcome="RETRY", failed_at=62_000, cause="no answer in 8 s")
    event = only(tell([], [failed], NOW))
    assert (event.text, event.outcome) == ("customer arrives", "RETRY")
    assert event.verdict == "not settled yet: last tried at 00:01:02: no answer in 8 s"


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
    assert event.verdict == "parked: the destination permanently rejected it"
    assert "in the same batch" in event.messages[1].text


def test_of_messages_logged_at_the_same_moment_the_one_that_acted_comes_first() -> None:
    copy = record("m0", "DUPLICATE", "SAME_KEY", 4_000, because="run#m1")
    event = only(tell([copy, record("m1", "PROCESSED", "ACTED", 4_000)], [claim()], NOW))
    assert [message.message_id for message in event.messages] == ["m1", "m0"]


def said_of(records: list[OutcomeRecord], *claims: Claim) -> list[str]:
    """All that explain says of them, event by event."""
    events = tell(records, claims, NOW)
    return [text for event in events for _, text in explain._view_event(event, True)]


def test_the_runbook_quotes_sentences_of_explain() -> None:
    failed = record("m1", "RETRY", "CALL_FAILED", 1_000, requests=2, cause="no answer in 8 s")
    newer = record("m2", "PROCESSED", "ACTED", 1_000, sk=SK + "2", occurredAtMs=61_000)
    said = [
        *said_of([acted("m1", 1_000)], claim()),
        *said_of([acted("m1", 1_000), acted("m2", 9_000, f"{KEY}.5")], claim(occurrence=-5_000)),
        *said_of([failed, acted("m1", 62_000)], claim()),
        *said_of([failed]),
        *said_of([acted("m1", 1_000), acted("m2", 9_000)], claim("run#m2")),
        *said_of([acted("m1", 1_000, unconfirmed=True), acted("m1", 9_000)], claim()),
        *said_of([newer, record("m1", "STALE", "NEWER_STATE", 2_000, because="run#m2")]),
        *said_of([record("m1", "PARKED", "REJECTED", 1_000)]),
        *said_of([record("m1", "PROCESSED", "OBSERVED", 1_000, replayName="again")]),
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
    assert "acted on twice" in sentences
    unsaid = set()
    for quote in sentences:
        parts = [re.escape(part) for part in re.split(r"…|\bN\b", quote)]
        if not any(re.search(".+".join(parts).removesuffix(".+"), one) for one in said):
            unsaid.add(quote)
    assert unsaid == {"Nothing is known of …"}, "that one needs a stack to be said"


FIRST = {"envelopeId": "e1", "source": "sales", "eventId": "p1", "occurredAtMs": 1_000}


@pytest.mark.parametrize(
    ("later", "cause"),
    [
        ({"because": "run#m2", "reason": "SETTLED_BEFORE"}, Cause.SAME_MESSAGE),
        ({"envelopeId": "e1", "source": "sales"}, Cause.SAME_ENVELOPE),
        ({"envelopeId": "e2", "source": "service"}, Cause.SECOND_INTEGRATION),
        ({"envelopeId": "e2", "source": "sales", "occurredAtMs": 1_000}, Cause.REPUBLISHED),
        ({"reason": "SAME_EVENT_ID", "occurredAtMs": 9_000}, Cause.REPUBLISHED),
        ({"envelopeId": "e2", "occurredAtMs": 1_200, "windowMs": 500}, Cause.WITHIN_WINDOW),
        ({"envelopeId": "e2", "occurredAtMs": 1_000, "windowMs": 500}, Cause.REPUBLISHED),
        ({"reason": "HELD", "outcome": "RETRY"}, Cause.IN_PROGRESS),
        ({"reason": "NEWER_STATE", "outcome": "STALE"}, Cause.OLDER),
        ({"because": "run#m9"}, Cause.COPY),
        ({"reason": "COLLAPSED", "outcome": "PARKED", "copyOf": "m1"}, Cause.COPY),
        ({"reason": "REJECTED", "outcome": "PARKED", "because": None}, None),
    ],
)
def test_a_skip_has_its_cause(later: dict[str, Any], cause: Cause | None) -> None:
    said = {"outcome": "DUPLICATE", "reason": "SAME_KEY", "because": "run#m1", **later}
    copy = record("m2", said.pop("outcome"), said.pop("reason"), 2_000, **said)
    events = tell([record("m1", "PROCESSED", "ACTED", 1_000, **FIRST), copy], [], NOW)
    (told,) = (one for event in events for one in event.messages if one.message_id == "m2")
    assert told.cause is cause


def test_every_cause_is_put_in_words() -> None:
    assert set(MEANING) == set(Cause)


def test_an_unchanged_state_is_skipped_as_such() -> None:
    event = only(tell([record("m1", "DUPLICATE", "UNCHANGED", 1_000, because="run#m0")], [], NOW))
    assert (event.outcome, event.verdict) == (
        Outcome.DUPLICATE,
        f"skipped: {describe('UNCHANGED')}",
    )


def test_a_state_that_returns_is_acted_on_as_another_event() -> None:
    first = record("a1", "PROCESSED", "ACTED", 2_000, windowMs=0)
    other = record("b", "PROCESSED", "ACTED", 3_000, windowMs=0, sk=SK + "2", occurredAtMs=2_000)
    again = record("a2", "PROCESSED", "ACTED", 4_000, windowMs=0, occurredAtMs=3_000)
    copy = record("a3", "DUPLICATE", "SAME_KEY", 4_500, windowMs=0, occurredAtMs=3_000)
    copy = copy.model_copy(update={"because": "run#a2"})
    events = tell([first, other, again, copy], [claim("run#a2", event_time=3_000)], NOW)
    assert [[one.message_id for one in event.messages] for event in events] == [
        ["a1"],
        ["b"],
        ["a2", "a3"],
    ]
    assert [event.owner for event in events][2] == "run#a2"
    assert {event.verdict for event in events} == {"acted on"}


def test_an_unchanged_state_names_the_first_of_its_kind() -> None:
    first = record("m0", "PROCESSED", "ACTED", 500, windowMs=0)
    repeats = [
        record(f"m{n}", "DUPLICATE", "UNCHANGED", at, windowMs=0, because=f"run#m{n - 1}")
        for n, at in ((1, 61_000), (2, 121_000))
    ]
    repeats = [one.model_copy(update={"occurred_at_ms": one.recorded_at_ms}) for one in repeats]
    _, *unchanged = tell([first, *repeats], [claim("run#m2")], NOW)
    assert {event.verdict for event in unchanged} == {
        "skipped: unchanged since 1970-01-01 00:00:01 UTC, as message m0 says"
    }


def test_an_event_that_was_not_reached_says_which_of_the_two_causes_it_was() -> None:
    failed = record("m1", "RETRY", "CALL_FAILED", 1_000, run="run", cause="no answer in 8 s")
    behind = record("m2", "RETRY", "NOT_REACHED", 1_000, run="run", sk=SK + "2")
    late = record("m3", "RETRY", "NOT_REACHED", 1_000, run="other", sk=SK + "3")
    _, told_behind, told_late = tell([failed, behind, late], [], NOW)
    assert "an earlier event of its subject was returned;" in told_behind.verdict
    assert "its batch had no time left;" in told_late.verdict


def test_a_function_that_failed_itself_may_have_sent_nothing() -> None:
    failed = [
        record("m1", "RETRY", "FUNCTION_FAILED", at, requests=1, errorClass=cause, cause=cause)
        for at in (1_000, 2_000)
        for cause in ["KeyError"]
    ]
    event = only(tell(failed, [], NOW))
    assert "the function that sends the request failed itself" in event.verdict
    assert "KeyError" in event.verdict
    assert (event.requests, event.has_known_requests) == (2, False)
    ((_, line),) = view_deliveries(event.messages[0], every=False)
    assert "returned twice" in line
    assert "at most 2 requests" in line


@pytest.mark.parametrize(
    "failed",
    [
        {"reason": "SETUP_FAULT", "cause": "the Genesys login answered 401: check the client"},
        {"reason": "CALL_FAILED", "cause": "the destination answered 503 at the login"},
        {
            "reason": "FUNCTION_FAILED",
            "cause": "Runtime.ImportModuleError: No module named 'no'",
            "errorClass": "Runtime.ImportModuleError",
        },
    ],
)
def test_a_refused_login_and_a_function_that_never_ran_are_no_requests(
    failed: dict[str, str],
) -> None:
    returned = record("m1", "RETRY", at=1_000, requests=1, **failed)
    event = only(tell([returned, acted("m1", 60_000)], [claim()], NOW))
    assert (event.requests, event.may_have_acted, event.has_known_requests) == (1, 1, True)
    assert (event.verdict, event.meaning) == ("acted on", "")
    ((_, below), _) = view_deliveries(event.messages[0], every=False)
    assert "request," not in below
    # After a request that failed, the login may be refused.
    twice = returned.model_copy(update={"requests": 2})
    assert only(tell([twice], [], NOW)).requests == 1


def test_a_destination_that_asks_to_wait_for_long_is_said_to_be_probed() -> None:
    asked = {"cause": "the destination answered 429: asked to wait 900 s", "returnsAtMs": NOW + 9}
    limited = record("m1", "RETRY", "RATE_LIMITED", 1_000, retryAfterSeconds=900, **asked)
    event = only(tell([limited], [], NOW))
    assert "asked to wait 900 s, but a request probes every 180 s" in event.verdict


def test_an_unknown_id_is_not_called_old() -> None:
    unknown: Any = SimpleNamespace(id="new", since_ms=NOW, waiting=0)
    at: Any = None
    said = say_unknown(at, unknown)
    assert said.endswith("If it is older, look further back with --since 30d.")


def test_events_are_summed_up_and_problems_told_from_the_rest() -> None:
    failed = record("m1", "RETRY", "CALL_FAILED", 1_000, requests=2)
    copy = record("m3", "DUPLICATE", "SAME_KEY", 2_500, because="run#m2", sk=SK + "2")
    fine = acted("m2", 2_000, sk=SK + "2")
    noted = acted("m4", 3_000, sk=SK + "3", note="no eventTime")
    events = tell([failed, fine, copy, noted], [], NOW)
    assert summarise(events) == "3 events: 2 acted on, 1 not settled, 1 copy skipped"
    assert [event.is_problem for event in events] == [True, False, True]


WAITED = [record("m1", "RETRY", "BREAKER_OPEN", at * 1_000) for at in range(0, 140, 20)]


def lines(*deliveries: OutcomeRecord, every: bool = False) -> list[tuple[int, str]]:
    ((message,),) = (event.messages for event in tell(deliveries, [], NOW))
    return list(view_deliveries(message, every))


def test_equal_returns_are_one_line_with_how_often_and_until_when() -> None:
    shown = lines(*WAITED, acted("m1", 140_000))
    assert [at_ms for at_ms, _ in shown] == [0, 140_000]
    until = "1970-01-01 00:02:00"
    assert shown[0][1] == f"returned 7 times until {until}: {describe('BREAKER_OPEN')}"
    assert len(lines(*WAITED, acted("m1", 140_000), every=True)) == 8


def test_a_correlation_id_that_differs_each_time_keeps_nothing_apart() -> None:
    ((_, said),) = lines(
        *(
            record("m1", "RETRY", "CALL_FAILED", at, status=502, cause=f"HTTP 502 ({at})")
            for at in (0, 30)
        )
    )
    assert said.startswith("returned twice")
    assert "HTTP 502 (30)" in said, "the newest is the one to ask for"


def test_failures_that_alternate_with_an_open_breaker_are_one_line() -> None:
    reasons = ["RATE_LIMITED", "BREAKER_OPEN", "BREAKER_OPEN"] * 5
    alternating = [
        record("m1", "RETRY", reason, at * 1_000, requests=int(reason == "RATE_LIMITED"))
        for at, reason in enumerate(reasons)
    ]
    limited, waits = lines(*alternating)
    assert limited[1].startswith("returned 13 times until 1970-01-01 00:00:12, 5 requests, the las")
    assert waits[1].startswith("returned twice")
    assert len(lines(*alternating, every=True)) == 15


def test_returns_that_differ_in_reason_or_status_stay_apart() -> None:
    shown = lines(
        record("m1", "RETRY", "CALL_FAILED", 0, status=502, requests=1),
        record("m1", "RETRY", "CALL_FAILED", 30_000, status=502, requests=2),
        record("m1", "RETRY", "CALL_FAILED", 90_000, status=503, returnsAtMs=270_000),
    )
    assert [said for _, said in shown] == [
        "returned twice until 1970-01-01 00:00:30, 3 requests, the last: the request failed: "
        "HTTP 502",
        "returned: the request failed: HTTP 503; returns at 00:04:30",
    ]


def test_a_delivery_after_the_end_has_a_line_of_its_own() -> None:
    again = record("m1", "PROCESSED", "SETTLED_BEFORE", 9_000, because="run#m1")
    shown = lines(acted("m1", 1_000, status=200, durationMs=12), again)
    assert [said for _, said in shown] == [
        f"PROCESSED, 1 request answered 200 after 12 ms, Idempotency-Key {KEY}",
        f"PROCESSED: {describe('SETTLED_BEFORE')}",
    ]


def test_an_event_that_waits_for_the_breaker_says_why_now_and_why_it_was_returned() -> None:
    waits = record("m1", "RETRY", "BREAKER_OPEN", 1_000, returnsAtMs=NOW + 60_000)
    paused = only(tell([waits], [], NOW, "requests are paused by ada: repairs"))
    assert paused.verdict.startswith("not settled yet: requests are paused by ada: repairs; ret")
    ((_, below),) = view_deliveries(paused.messages[0], every=False)
    assert f"returned: {describe('BREAKER_OPEN')}" in below, "the cause of then is not known"
    over = only(tell([waits], [], NOW, Breaker(state=State.CLOSED).say_wait(NOW)))
    assert over.verdict.startswith("not settled yet: no request could be sent then")
    assert "; requests are sent again; returns at" in over.verdict
