"""The time axis of an event: which marks stand in which lane, and where."""

from itertools import pairwise

from once.console.axis import Axis, axis
from once.operate.destination import Call
from once.operate.story import tell
from once.operate.way import Step, Way
from once.outcomes import Outcome
from once.records import OutcomeRecord

NOW_MS = 1_795_000_100_000
PK, SK = "-/conversation/c-1", "v1/conversation.customer.start/p/1"


def record(message_id: str, outcome: str, reason: str, at_ms: int, **more: object) -> OutcomeRecord:
    return OutcomeRecord.model_validate(
        {"message_id": message_id, "outcome": outcome, "reason": reason, "pk": PK, "sk": SK}
        | {"family": "conversation.customer.start", "recorded_at_ms": NOW_MS - 100_000 + at_ms}
        | more
    )


def drawn(*records: OutcomeRecord, way: Way | None = None, calls: tuple[Call, ...] = ()) -> Axis:
    first, *others = tell(records, [], NOW_MS)
    return axis(first, others, way, calls, NOW_MS)


def labels(found: Axis, lane: int = 0) -> list[str]:
    return [mark.label for mark in found.lanes[lane].marks]


def test_equal_hand_backs_are_one_mark_with_the_time_they_lasted() -> None:
    waits = [record("m-1", "RETRY", "CALL_FAILED", n * 1_000, calls=1) for n in range(7)]
    found = drawn(*waits, record("m-1", "PROCESSED", "ACTED", 9_000, calls=1))
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
        record("m-1", "PROCESSED", "ACTED", 0, calls=1),
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
    steps = [Step(state="RunAction", at_ms=NOW_MS - 100_900)]
    way = Way(message_id="m-1", source="execution log", why_record=None, execution="r", steps=steps)
    acted = record("m-1", "PROCESSED", "ACTED", 0, calls=2)
    found = drawn(acted, way=way, calls=(call(-800, None), call(-100, 200)))
    assert labels(found) == ["hung up", "200", "done"]
    assert labels(drawn(acted, way=way)) == ["calls", "done"]


def test_each_of_two_acts_has_its_own_call() -> None:
    found = drawn(
        record("m-1", "PROCESSED", "ACTED", 0, calls=1),
        record("m-2", "PROCESSED", "ACTED", 9_000, calls=1),
        calls=(call(-100, 200), call(8_900, 200)),
    )
    assert [labels(found, lane) for lane in (0, 1)] == [["200", "done"], ["200", "done"]]
    assert found.lanes[0].marks[0].at_ms < found.lanes[1].marks[0].at_ms


def test_an_attempt_stays_when_its_message_was_handed_back_without_a_call() -> None:
    found = drawn(
        record("m-1", "RETRY", "CALL_FAILED", 0, calls=2),
        record("m-1", "RETRY", "BREAKER_OPEN", 9_000),
        calls=(call(-200, None), call(-100, None)),
    )
    assert labels(found) == ["hung up", "hung up", "waits", "waits"]
    titles = [mark.title.partition(": ")[2] for mark in found.lanes[0].marks[:2]]
    assert titles == ["attempt 1: no answer", "attempt 2: no answer"]


def test_an_attempt_stays_when_what_acted_was_delivered_again() -> None:
    found = drawn(
        record("m-1", "PROCESSED", "ACTED", 0, calls=1),
        record("m-1", "PROCESSED", "SETTLED_BEFORE", 9_000, because="run#m-1"),
        calls=(call(-100, 200),),
    )
    assert labels(found) == ["200", "done", "again"]


def test_a_call_that_nothing_is_recorded_of_yet_is_of_who_calls_now() -> None:
    found = drawn(record("m-1", "RETRY", "CALL_FAILED", 0, calls=1), calls=(call(500, None),))
    assert labels(found) == ["waits", "hung up"]


def test_marks_are_in_order_and_their_labels_apart() -> None:
    times = [0, 1, 2, 40, 41, 3_600_000, 3_600_001, 7_200_000]
    records = [record(f"m-{at}", "PROCESSED", "ACTED", at) for at in times]
    found = drawn(*records)
    places = [tick.x for tick in found.ticks]
    assert places == sorted(places)
    assert 0 < places[0] < places[-1] < 100
    for one, other in pairwise(found.ticks):
        assert one.level != other.level or other.x - one.x >= 7
    hour = found.ticks[5]
    assert hour.label == "+60 min"
