"""The time axis of an event: which marks stand in which lane, and where."""

from once.console.axis import Axis, axis
from once.operate.claims import Claim
from once.operate.destination import Call
from once.operate.path import Path, Step
from once.operate.story import tell
from once.outcomes import Outcome
from once.records import OutcomeRecord

LETTER = 0.9  # percent of an axis of 711 pixels, on a window of 1,001
NOW_MS = 1_795_000_100_000
PK, SK = "-/conversation/c-1", "v1/conversation.customer.start/p/1"


def record(message_id: str, outcome: str, reason: str, at_ms: int, **more: object) -> OutcomeRecord:
    return OutcomeRecord.model_validate(
        {"message_id": message_id, "outcome": outcome, "reason": reason, "pk": PK, "sk": SK}
        | {"family": "conversation.customer.start", "recorded_at_ms": NOW_MS - 100_000 + at_ms}
        | more
    )


def drawn(
    *records: OutcomeRecord,
    path: Path | None = None,
    calls: tuple[Call, ...] = (),
    claim: Claim | None = None,
) -> Axis:
    first, *others = tell(records, [], NOW_MS)
    return axis(first, others, path, calls, claim, NOW_MS)


def took(*steps: tuple[str, int]) -> Path:
    entered = [Step(state=state, at_ms=NOW_MS - 100_000 + at_ms) for state, at_ms in steps]
    return Path(message_id="m-1", execution="r", steps=entered, missing=None)


def labels(found: Axis, lane: int = 0) -> list[str]:
    return [mark.label for mark in found.lanes[lane].marks]


def test_equal_returns_are_one_mark_with_their_duration() -> None:
    waits = [record("m-1", "RETRY", "CALL_FAILED", n * 1_000, requests=1) for n in range(7)]
    found = drawn(*waits, record("m-1", "PROCESSED", "ACTED", 9_000, requests=1))
    assert labels(found) == ["waits 7 times", "done"]
    waited, done = found.lanes[0].marks
    assert waited.until_ms == done.at_ms
    assert waited.until_x == done.x


def test_what_still_waits_reaches_to_its_return() -> None:
    returns_ms = NOW_MS + 60_000
    found = drawn(record("m-1", "RETRY", "LIMITED", 0, returns_at_ms=returns_ms))
    (mark,) = found.lanes[0].marks
    assert mark.until_ms == returns_ms
    assert "back at" in mark.title


def test_a_copy_has_a_lane_and_a_tick_of_its_own() -> None:
    found = drawn(
        record("m-1", "PROCESSED", "ACTED", 0, requests=1),
        record("m-2", "DUPLICATE", "SAME_KEY", 500, because="run#m-1"),
    )
    assert [lane.outcome for lane in found.lanes] == [Outcome.PROCESSED, Outcome.DUPLICATE]
    assert labels(found, 1) == ["copy"]


def call(at_ms: int, status: int | None) -> Call:
    return Call(
        at_ms=NOW_MS - 100_000 + at_ms,
        family=None,
        state=None,
        subject_id=None,
        idempotency_key="k",
        status=status,
        acted=status == 200,
        repeated=False,
    )


def test_attempts_stand_where_the_destination_saw_them() -> None:
    path = took(("RunAction", -900))
    acted = record("m-1", "PROCESSED", "ACTED", 0, requests=2)
    found = drawn(acted, path=path, calls=(call(-800, None), call(-100, 200)))
    assert labels(found) == ["no response", "200", "done"]
    assert labels(drawn(acted, path=path)) == ["requests", "done"]


def test_each_of_two_acts_has_its_own_call() -> None:
    found = drawn(
        record("m-1", "PROCESSED", "ACTED", 0, requests=1),
        record("m-2", "PROCESSED", "ACTED", 9_000, requests=1),
        calls=(call(-100, 200), call(8_900, 200)),
    )
    assert [labels(found, lane) for lane in (0, 1)] == [["200", "done"], ["200", "done"]]
    assert found.lanes[0].marks[0].at_ms < found.lanes[1].marks[0].at_ms


def test_an_attempt_stays_if_its_message_returned_without_a_request() -> None:
    found = drawn(
        record("m-1", "RETRY", "CALL_FAILED", 0, requests=2),
        record("m-1", "RETRY", "BREAKER_OPEN", 9_000),
        calls=(call(-200, None), call(-100, None)),
    )
    assert labels(found) == ["no response", "no response", "waits", "waits"]
    titles = [mark.title.partition(": ")[2] for mark in found.lanes[0].marks[:2]]
    assert titles == ["attempt 1: no response", "attempt 2: no response"]


def test_an_attempt_stays_if_its_message_was_delivered_again() -> None:
    found = drawn(
        record("m-1", "PROCESSED", "ACTED", 0, requests=1),
        record("m-1", "PROCESSED", "SETTLED_BEFORE", 9_000, because="run#m-1"),
        calls=(call(-100, 200),),
    )
    assert labels(found) == ["200", "done", "again"]


def test_an_unrecorded_request_belongs_to_the_owner() -> None:
    found = drawn(record("m-1", "RETRY", "CALL_FAILED", 0, requests=1), calls=(call(500, None),))
    assert labels(found) == ["waits", "no response"]


def test_marks_are_in_order_and_their_labels_apart() -> None:
    times = [0, 1, 2, 40, 41, 3_600_000, 3_600_001, 7_200_000]
    records = [record(f"m-{at}", "PROCESSED", "ACTED", at) for at in times]
    found = drawn(*records)
    places = [tick.x for tick in found.ticks]
    assert places == sorted(places)
    assert 0 < places[0] < places[-1] < 100
    for labelled in (found.ticks, found.lanes[0].marks):
        for number, one in enumerate(labelled):
            for other in labelled[:number]:
                wide = (len(one.label) + len(other.label)) / 2 * LETTER
                assert one.level != other.level or one.x - other.x >= wide
    hour = found.ticks[5]
    assert hour.label == "+60 min"


def claim(done_ms: int) -> Claim:
    at_ms = NOW_MS - 100_000
    return Claim.model_validate(
        {"pk": PK, "sk": SK, "status": "DONE", "owner": "run#m-1", "message_id": "m-1"}
        | {"event_time": at_ms, "occurrence": 1, "claimed_at": at_ms, "lease_until": at_ms}
        | {"event_id": "", "tries": 0, "failed_at": 0, "copies": 0}
        | {"expires_at": 9_999, "family": "f", "topic": "t", "done_at": at_ms + done_ms}
    )


def test_it_is_done_when_its_claim_says_so_and_not_when_its_batch_was_recorded() -> None:
    found = drawn(
        record("m-1", "PROCESSED", "ACTED", 500, requests=1),
        record("m-2", "DUPLICATE", "SAME_KEY", 700, because="run#m-1"),
        record("m-1", "PROCESSED", "SETTLED_BEFORE", 9_000, because="run#m-1"),
        claim=claim(100),
    )
    done, again = found.lanes[0].marks
    assert done.at_ms == NOW_MS - 100_000 + 100
    assert "recorded" not in done.title
    (copy,) = found.lanes[1].marks
    assert [copy.at_ms, again.at_ms] == [NOW_MS - 100_000 + 700, NOW_MS - 100_000 + 9_000]
    for mark in (copy, again):
        assert "as recorded when its batch ended" in mark.title


def test_a_busy_claim_is_no_rejection_by_the_destination() -> None:
    acted = record("m-1", "PROCESSED", "ACTED", 900, requests=1)
    found = drawn(acted, path=took(("ClaimKey", 0), ("ReadClaim", 300), ("ClaimKey", 600)))
    assert labels(found) == ["claim refused", "claimed", "done"]


def test_an_event_of_a_later_round_names_the_start_of_its_round() -> None:
    acted = record("m-1", "PROCESSED", "ACTED", 9_000, requests=1)
    own = (("SettleEvents", 6_000), ("ClaimKey", 6_100), ("CheckOrder", 6_200))
    path = took(("OpenBatch", 0), ("SettleEvents", 100), *own, ("SettleEvents", 8_000))
    found = drawn(acted, path=path)
    assert labels(found) == ["taken", "its round", "claimed", "done"]
    assert found.lanes[0].marks[1].said == "after 1 round of other events of its batch"
    alone = took(("OpenBatch", 0), *own, ("SettleEvents", 8_000))
    assert labels(drawn(acted, path=alone)) == ["taken", "claimed", "done"]
