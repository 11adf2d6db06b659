"""One story per event: which messages are one event, how it ended, what its requests mean."""

import re
from typing import Any

import pytest

from once.model.reasons import Outcome
from once.model.records import Record
from once.model.status import Breaker, State
from once.model.story import Story
from once.model.verdict import summarise, tell
from tests.model.support import DIGEST, NOW_MS, PK, SK, claim, record


def tell_one(*records: Record, **row: Any) -> Story:
    rows = [claim(**row)] if row else []
    (story,) = tell(records, rows, NOW_MS)
    return story


@pytest.mark.parametrize(
    ("fields", "row", "is_unknown"),
    [
        ({}, {"deaths": 0}, False),
        ({}, {"deaths": 1}, True),
        ({"failed_at_ms": NOW_MS - 50_000}, {"deaths": 0}, True),
    ],
)
def test_a_delivery_without_a_record_may_have_sent_a_request(
    fields: dict[str, Any], row: dict[str, int], is_unknown: bool
) -> None:
    act = record("a", "PROCESSED", "ACTED", 10_000, requests=1, **fields)
    story = tell_one(act, owner="a", **row)
    assert story.is_in_doubt is story.is_unclear is bool(story.meaning) is is_unknown
    assert ("1 request" in story.count_requests()) is not is_unknown


def test_a_record_of_a_kept_claim_explains_the_end_of_its_owner() -> None:
    story = tell_one(
        record("a", "RETRY", "FUNCTION_FAILED", 90_000, lease_until_ms=NOW_MS - 60_000),
        record("a", "PROCESSED", "ACTED", 10_000, requests=1, failed_at_ms=NOW_MS - 50_000),
        owner="a",
        deaths=1,
    )
    assert not story.has_unrecorded


def test_copies_belong_to_the_event_that_stood_for_them() -> None:
    story = tell_one(
        record("a", "PROCESSED", "ACTED", 90_000, requests=1),
        record("b", "DUPLICATE", "SAME_KEY", 60_000, because="run#a"),
        record("c", "RETRY", "HELD", 50_000, because="run#b"),
        owner="a",
    )
    assert [chain.id for chain in story.chains] == ["a", "b", "c"]
    assert [chain.id for chain in story.own] == ["a"]
    assert story.outcome is Outcome.PROCESSED


def test_states_that_return_are_events_of_their_own() -> None:
    first = record("a", "PROCESSED", "ACTED", 90_000, idempotency_key=f"{DIGEST}.1")
    again = record(
        "b", "PROCESSED", "ACTED", 10_000, idempotency_key=f"{DIGEST}.2", occurred_at_ms=NOW_MS
    )
    assert len(tell([first, again], [], NOW_MS)) == 2


def test_a_key_that_cannot_occur_again_is_one_event_however_often_it_was_sent() -> None:
    story = tell_one(
        record("a", "PROCESSED", "ACTED", 90_000, requests=1, idempotency_key=DIGEST),
        record(
            "b", "PROCESSED", "ACTED", 10_000, requests=1, idempotency_key=f"{DIGEST}.9",
            occurred_at_ms=NOW_MS,
        ),
    )  # fmt: skip
    assert len(story.acts) == 2
    assert "purpose" in story.meaning


@pytest.mark.parametrize(
    ("reason", "ago_ms", "state", "verdict"),
    [
        ("BREAKER_OPEN", 7_200_000, State.OPEN, ".*no request succeeded.* at 08:15:00 UTC .*"),
        ("BREAKER_OPEN", 900_000, State.OPEN, ".*no request succeeded.* at 08:15:00 UTC .*"),
        ("BREAKER_OPEN", 60_000, State.OPEN, ".*no request succeeded.* at 08:14:00 UTC .*"),
        ("BREAKER_OPEN", 7_200_000, State.CLOSED, ".*closed again; due 105 min ago .*"),
        ("PAUSED", 10_000, State.CLOSED, "waits: .* the pause is over; comes back .*"),
    ],
)
def test_the_breaker_of_now_explains_what_waits_for_it(
    reason: str, ago_ms: int, state: State, verdict: str
) -> None:
    put_back = record("a", "RETRY", reason, ago_ms, cause="paused by ada: repair")
    (story,) = tell([put_back], [], NOW_MS, Breaker(state=state, since_ms=1))
    assert re.fullmatch(verdict, story.verdict), story.verdict
    assert "ada" not in story.verdict


@pytest.mark.parametrize(
    ("family", "proposed"), [("user.presence", True), ("analytics.queue.observations", False)]
)
def test_every_is_proposed_unless_the_family_is_windowed(family: str, proposed: bool) -> None:
    """`once routes check` refuses it for a windowed family."""
    (story,) = tell([record("a", "STALE", "NEWER_STATE", sk=f"v2/{family}/p1")], [], NOW_MS)
    assert ('order = "every"' in story.verdict) is proposed


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({"envelope_id": "e"}, "SAME_ENVELOPE"),
        ({"envelope_id": "f", "source": "other"}, "SECOND_INTEGRATION"),
        ({"envelope_id": "f", "event_id": "p"}, "REPUBLISHED"),
        ({"envelope_id": "f", "occurred_at_ms": NOW_MS - 599_000}, "WITHIN_WINDOW"),
        ({"envelope_id": "f"}, "REPUBLISHED"),
        ({"source": "other"}, "SECOND_INTEGRATION"),
        ({"event_id": "p"}, "REPUBLISHED"),
        ({"event_id": "q"}, "COPY"),
        ({"because": "run#unknown"}, "COPY"),
    ],
)
def test_a_copy_has_a_cause(fields: dict[str, Any], cause: str) -> None:
    own = {"envelope_id": "e", "source": "ours", "event_id": "p", "requests": 1}
    first = record("a", "PROCESSED", "ACTED", 90_000, **own)
    copy = {"because": "run#a", "source": "ours", **fields}
    second = record("b", "DUPLICATE", "SAME_KEY", 10_000, **copy)
    stories = tell([first, second], [], NOW_MS)
    chains = {chain.id: chain for story in stories for chain in story.chains}
    assert chains["b"].cause == cause
    assert ("message a" in chains["b"].text) is ("unknown" not in copy["because"])
    assert ("other" in chains["b"].text) is (cause == "SECOND_INTEGRATION")


@pytest.mark.parametrize(
    ("outcome", "reason", "met", "cause", "text"),
    [
        ("PROCESSED", "SETTLED_BEFORE", "b", "SAME_MESSAGE", "same message"),
        ("RETRY", "HELD", "a", "IN_PROGRESS", "in progress"),
        ("STALE", "NEWER_STATE", "a", "OLDER", "older"),
        ("DUPLICATE", "UNCHANGED", "a", None, "same facts"),
    ],
)
def test_an_event_that_is_not_acted_on_has_a_cause(
    outcome: str, reason: str, met: str, cause: str | None, text: str
) -> None:
    first = record("a", "PROCESSED", "ACTED", 90_000)
    second = record("b", outcome, reason, 10_000, because=f"run#{met}")
    (chain,) = (c for s in tell([first, second], [], NOW_MS) for c in s.chains if c.id == "b")
    assert (chain.cause, text in chain.text) == (cause, True)


@pytest.mark.parametrize(
    ("outcome", "reason", "requests"), [("PROCESSED", "ACTED", 2), ("RETRY", "CALL_FAILED", 1)]
)
def test_an_event_is_unclear_if_a_further_request_may_have_acted(
    outcome: str, reason: str, requests: int
) -> None:
    assert tell_one(record("a", outcome, reason, requests=requests)).is_unclear


@pytest.mark.parametrize(
    ("reason", "because", "is_settled"),
    [("WAITS_ALREADY", "run#a", False), ("WAITS_ALREADY", "run#b", True), ("SAME_KEY", "", True)],
)
def test_second_delivery_of_a_message_that_waits_settles_nothing(
    reason: str, because: str, is_settled: bool
) -> None:
    assert record("a", "DUPLICATE", reason, because=because).is_settled is is_settled


def test_a_summary_counts_every_end() -> None:
    ends = [
        ("PROCESSED", "ACTED", {"requests": 2}),
        ("DUPLICATE", "UNCHANGED", {}),
        ("STALE", "NEWER_STATE", {}),
        ("IGNORED", "EXPIRED", {}),
        ("PARKED", "UNREADABLE", {}),
        ("RETRY", "LIMITED", {}),
    ]
    records = [
        record(f"m{number}", outcome, reason, sk=f"{SK}{number}", **fields)
        for number, (outcome, reason, fields) in enumerate(ends)
    ]
    in_progress = claim("z", "IN_PROGRESS", None, sk=f"{SK}z")
    parts = "1 acted on, 1 skipped as unchanged, 1 skipped as stale, 1 ignored, 1 parked"
    doubt = "1 of 7 perhaps acted on more than once"
    stories = tell(records, [in_progress], NOW_MS)
    assert summarise(stories) == f"7 events: {parts}, 2 not settled; {doubt}"
    copy = record("b", "DUPLICATE", "SAME_KEY", 10_000, because="run#a")
    copies = [copy, copy.model_copy(update={"first_message_id": "c"})]
    assert summarise(tell([ACTED, copies[0]], [], NOW_MS)).endswith("1 acted on, 1 copy skipped")
    assert summarise(tell([ACTED, *copies], [], NOW_MS)).endswith("acted on, 2 copies skipped")
    assert summarise([]) == "no event"


ACTED = record("a", "PROCESSED", "ACTED", 90_000, requests=1, idempotency_key=f"{DIGEST}.1")
AGAIN = record("a", "PROCESSED", "ACTED", 10_000, requests=1, idempotency_key=f"{DIGEST}.1")
FORGOTTEN = {"owner": "a", "occurrence": 30_000 - NOW_MS}
OPENED = r"`once forget` opened it on 2027-01-15 07:59:30 UTC"
LATE = record("a", "IGNORED", "EXPIRED", route="callbacks")
FAILED = {"requests": 1, "cause": "HTTP 503"}
DROPPED = {"owner": "a", "outcome": "PARKED", "dropped_at": NOW_MS - 9_000}


def waits(ago_ms: int, reason: str = "CALL_FAILED", **fields: Any) -> Record:
    return record("a", "RETRY", reason, ago_ms, retry_in_seconds=30, **fields)


@pytest.mark.parametrize(
    ("records", "row", "verdict"),
    [
        ([record("a", "PROCESSED", "ACTED", age_ms=400)], {}, r"acted on, 0\.4 s after .*"),
        ([record("a", "PROCESSED", "ACTED", age_ms=86_399_999)], {}, "acted on, 24 h after .*"),
        ([record("a", "PROCESSED", "ACTED", age_ms=86_400_000)], {}, "acted on"),
        ([record("a", "PROCESSED", "OBSERVED")], {}, "observed; nothing .*"),
        ([], {"owner": "a"}, "acted on"),
        ([ACTED, AGAIN], {}, "acted on twice"),
        ([ACTED], FORGOTTEN, "acted on"),
        ([ACTED, AGAIN], FORGOTTEN, f"acted on twice; {OPENED}"),
        ([ACTED], {**FORGOTTEN, "status": "FAILED"}, f"acted on; {OPENED}: .*"),
        ([waits(90_000)], {**FORGOTTEN, "status": "FAILED"}, f"{OPENED}: .*"),
        ([waits(90_000, **FAILED), AGAIN], {}, "acted on; 2 requests, perhaps .*"),
        ([LATE], {}, 'ignored: too old for route "callbacks", 9 min after .*'),
        ([waits(90_000, **FAILED), LATE], {}, "ignored: .*; 1 request before, and .* may .*"),
        ([record("a", "IGNORED", "ROUTE_IS_NONE", cause="not ours")], {}, "ignored: not ours"),
        ([record("a", "PARKED", "REJECTED", failed_at_ms=9, tries=2)], {}, "parked: [^;]*"),
        ([record("a", "PARKED", "GAVE_UP", failed_at_ms=9, tries=3)], {}, "parked: .*; 3 tries"),
        (
            [record("a", "PARKED", "REJECTED", cause="HTTP 400")],
            DROPPED,
            r"dropped .* on 2027-01-15 07:59:51 UTC .*; was parked: .*: HTTP 400",
        ),
        ([], {"owner": "a", "outcome": "PARKED"}, "parked"),
        (
            [ACTED, record("a", "PARKED", "UNCERTAIN", 1)],
            {"owner": "a", "outcome": "PARKED"},
            "acted on, and then parked: .*",
        ),
        (
            [waits(10_000, tries=2, **FAILED)],
            {},
            "waits: HTTP 503; tried once, 2 tries of .*; comes back at 08:00:20 UTC .*",
        ),
        ([waits(30_000, "LIMITED")], {}, "waits: [^;]*; it is due now"),
        ([waits(329_999, "LIMITED")], {}, "waits: [^;]*; it is due now"),
        ([waits(330_000, "LIMITED")], {}, "waits: [^;]*; due 5 min ago .* once parked list"),
        (
            [],
            {"owner": "a", "status": "FAILED", "outcome": "RETRY", "cause": "HTTP 500",
             "due_at": NOW_MS + 5_000},
            "waits: HTTP 500; comes back at 08:00:05 UTC .*",
        ),
        ([], {"owner": "a", "status": "FAILED", "outcome": "RETRY"}, "waits: nothing .*"),
        (
            [],
            {"owner": "a", "status": "IN_PROGRESS", "outcome": None, "lease_until": NOW_MS + 9_000},
            "in progress; .* free in 10 s",
        ),
        ([], {"owner": "a", "status": "IN_PROGRESS", "outcome": None}, "its owner died; .*"),
        (
            [waits(1_000, "FUNCTION_FAILED", error_class="MemoryError")],
            {"owner": "a", "status": "IN_PROGRESS", "lease_until": NOW_MS + 9_000},
            "waits: .*MemoryError; .*; comes back at 08:00:29 UTC .*",
        ),
        (
            [ACTED.model_copy(update={"unconfirmed": True})],
            {"owner": "a", "status": "IN_PROGRESS", "outcome": None},
            "acted on; its completion write failed, .*",
        ),
        ([record("a", "STALE", "NEWER_STATE", because="run#b")], {}, "skipped: .* message b .*"),
        ([record("a", "DUPLICATE", "UNCHANGED", because="run#b")], {}, "skipped: .* message b .*"),
        ([record("a", "DUPLICATE", "SAME_KEY", because="run#b")], {}, "skipped as a copy; .*"),
        ([], {"owner": "a", "outcome": "STALE"}, "skipped: older .*"),
    ],
)  # fmt: skip
def test_a_verdict_begins_with_the_end_and_names_what_is_known(
    records: list[Record], row: dict[str, Any], verdict: str
) -> None:
    story = tell_one(*records, **row)
    assert re.fullmatch(verdict, story.verdict), story.verdict


def test_a_skipped_state_names_the_one_that_was_acted_on() -> None:
    first = record("a", "PROCESSED", "ACTED", 90_000, plain_state="IDLE")
    equal = [
        record(name, "DUPLICATE", "UNCHANGED", ago_ms, because=f"run#{met}", sk=f"{SK}{name}")
        for name, met, ago_ms in (("b", "a", 60_000), ("c", "b", 30_000))
    ]
    older = record("d", "STALE", "NEWER_STATE", 9_000, because="run#a", sk=f"{SK}d")
    verdicts = {s.chains[0].id: s.verdict for s in tell([first, *equal, older], [], NOW_MS)}
    assert "IDLE of 07:50:00.000 (message a)" in verdicts["d"]
    assert "since 2027-01-15 07:50:00 UTC, as message a says" in verdicts["b"]
    assert verdicts["c"] == verdicts["b"]


@pytest.mark.parametrize(
    ("records", "row", "meaning"),
    [
        ([AGAIN], {}, ""),
        ([ACTED, AGAIN], {}, ".* claim had expired; .* acted twice"),
        ([ACTED.model_copy(update={"unconfirmed": True}), AGAIN], {}, ".* write failed; .* twice"),
        (
            [ACTED, AGAIN.model_copy(update={"idempotency_key": f"{DIGEST}.2"})],
            FORGOTTEN,
            f"acted on again on purpose, .*: {OPENED}",
        ),
        ([waits(90_000, "RATE_LIMITED", requests=1), AGAIN], {}, "the rejected .* did nothing"),
        ([waits(90_000, **FAILED), AGAIN], {}, ".* may have acted on it twice"),
        ([record("a", "PARKED", "GAVE_UP", requests=2)], {}, "no request is known .* each"),
    ],
)
def test_more_than_one_request_has_a_meaning(
    records: list[Record], row: dict[str, Any], meaning: str
) -> None:
    story = tell_one(*records, **row)
    assert re.fullmatch(meaning, story.meaning), story.meaning


@pytest.mark.parametrize(
    ("outcome", "reason", "apart_ms", "text"),
    [
        ("PROCESSED", "SAME_KEY", 60_000, "decided 60 s after message a was acted on"),
        ("PROCESSED", "SAME_KEY", 100, "decided 0.1 s after message a was acted on"),
        ("PROCESSED", "SAME_KEY", 99, "decided at the same time as message a was acted on"),
        ("PARKED", "SAME_KEY", 60_000, "decided 60 s after message a was settled"),
        ("RETRY", "WAITS_ALREADY", 60_000, "decided while message a waited"),
    ],
)
def test_a_copy_names_the_message_that_it_met(
    outcome: str, reason: str, apart_ms: int, text: str
) -> None:
    first = record("a", outcome, "ACTED", 90_000)
    copy = record("b", "DUPLICATE", reason, 90_000 - apart_ms, because="run#a")
    story = tell_one(first, copy)
    assert story.chains[1].text.endswith(text)


@pytest.mark.parametrize(
    ("later", "row", "lead"),
    [
        (("RETRY", "LIMITED"), {}, "ACTED"),
        (("RETRY", "CALL_FAILED", 1), {}, "CALL_FAILED"),
        (("RETRY", "CALL_FAILED", 1), {"status": "DONE"}, "ACTED"),
        (("RETRY", "LIMITED"), {"status": "FAILED"}, "LIMITED"),
        (("PARKED", "REJECTED"), {"status": "DONE", "outcome": "PARKED"}, "REJECTED"),
        (("IGNORED", "EXPIRED"), {"status": "FAILED"}, "ACTED"),
        (("PARKED", "REJECTED"), {}, "ACTED"),
    ],
)
def test_an_event_that_was_acted_on_stands_so_until_it_was_taken_up_again(
    later: tuple[Any, ...], row: dict[str, Any], lead: str
) -> None:
    outcome, reason, *requests = later
    again = record("b", outcome, reason, 10_000, requests=next(iter(requests), None))
    story = tell_one(ACTED, again, **({"owner": "a", **row} if row else {}))
    assert story.lead is not None
    assert story.lead.reason == lead


def test_a_chain_that_acted_and_waits_again_ends_with_its_last_act() -> None:
    held = record("a", "RETRY", "HELD", 5_000, because="run#z")
    copy = record("a", "DUPLICATE", "WAITS_ALREADY", 1_000, because="run#a")
    story = tell_one(ACTED, AGAIN, held, copy)
    assert story.chains[0].end == AGAIN
    assert tell_one(held, copy).chains[0].end == held
    settled = record("a", "DUPLICATE", "SAME_KEY", 1_000, because="run#z")
    assert tell_one(held, settled).chains[0].end == settled


def test_later_deliveries_alone_count_as_one_act() -> None:
    before = [record("a", "PROCESSED", "SETTLED_BEFORE", ms, because="run#a") for ms in (9, 8)]
    assert len(tell_one(*before).acts) == 1


def test_a_story_has_names_a_time_and_a_text() -> None:
    named = {"event_id": "p", "envelope_id": "e", "returned_as": "r", "idempotency_key": DIGEST}
    copy = record("0", "DUPLICATE", "SAME_KEY", because="run#a")
    story = tell_one(copy, record("a", "RETRY", "LIMITED", plain_state="IDLE", **named), owner="a")
    assert story.names == {f"{PK}/{SK}", "a", "0", "p", "e", "r", DIGEST}
    assert [chain.id for chain in story.chains] == ["a", "0"]
    assert (story.text, story.occurred_ms) == ("enters a queue: IDLE", NOW_MS - 600_000)
    unread = record("a", "PARKED", "UNREADABLE", pk=None, sk=None, occurred_at_ms=None)
    assert (tell_one(unread).text, tell_one(unread).occurred_ms) == ("an event", NOW_MS - 60_000)
    assert tell_one(owner="a").occurred_ms == NOW_MS - 600_000
