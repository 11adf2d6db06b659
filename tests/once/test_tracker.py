"""Every line of a run is followed to its end."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from once.outcomes import Outcome
from once.records import OutcomeLog
from once.run.tracker import Failures, Standing, Tracker
from once.sending import Sent
from once.waiter import Waiter

from once.errors import OnceError
from once.lines import Line
from once.local.pipe import Batch, Ending

OUTPUTS = {
    "OutcomeLogGroupName": "outcomes",
    "EventQueueUrl": "queue",
    "EventBusName": "bus",
}
FIRST, SECOND = Line(1, "{}"), Line(2, "{}")


class FakeAws:
    """The outcome log and the queues of a stack."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.waiting = 0
        self.which = "NotVisible"

    def client(self, _: str) -> "FakeAws":
        return self

    def get_paginator(self, _: str) -> "FakeAws":
        return self

    def paginate(self, logGroupName: str, startTime: int, **_: Any) -> list[dict[str, Any]]:  # noqa: N803
        assert logGroupName == "outcomes"
        return [{"events": [e]} for e in self.events if e["timestamp"] >= startTime]

    def record(self, message_id: str, outcome: str, at: int = 1_000_000, **more: Any) -> None:
        said = {"messageId": message_id, "outcome": outcome, **more}
        event = {"eventId": str(len(self.events)), "timestamp": at, "message": json.dumps(said)}
        self.events.append(event)

    def get_queue_attributes(self, **_: Any) -> dict[str, Any]:
        kinds = ("", "NotVisible", "Delayed")
        return {
            "Attributes": {
                f"ApproximateNumberOfMessages{kind}": str(self.waiting * (kind == self.which))
                for kind in kinds
            }
        }


class Clock:
    """Lets time pass only while somebody waits, and does what is due then."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.at: dict[float, Callable[[], None]] = {}

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        for when in [when for when in self.at if when <= self.now]:
            self.at.pop(when)()


@pytest.fixture
def aws() -> FakeAws:
    return FakeAws()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tracker(aws: FakeAws, clock: Clock) -> Tracker:
    return Tracker(aws.client, OUTPUTS, clock=clock, sleep=clock.sleep)


def queued(line: Line, message_id: str) -> list[Sent]:
    return [Sent(line, message_id, "queue")]


def wait(tracker: Tracker, *lines: Line) -> list[Standing]:
    seen: list[Standing] = []
    tracker.wait_for_one([lines], seen.append)
    return seen


def test_a_line_is_settled_by_the_record_of_its_message(aws: FakeAws, tracker: Tracker) -> None:
    tracker.follow(queued(FIRST, "m1"))
    aws.record("m1", "PROCESSED", pk="p", sk="s", reason="ACTED")
    wait(tracker, FIRST)
    report = tracker.report(FIRST)
    assert (report.outcome, report.reason, report.via) == (Outcome.PROCESSED, "ACTED", "queue")
    assert report.key is not None
    assert (report.key.pk, report.key.sk) == ("p", "s")


def test_a_record_may_come_before_its_message_is_known(aws: FakeAws, tracker: Tracker) -> None:
    aws.record("m1", "PROCESSED")
    aws.record("m2", "PROCESSED")
    tracker.follow(queued(FIRST, "m1"))
    wait(tracker, FIRST)
    tracker.follow(queued(SECOND, "m2"))
    wait(tracker, SECOND)
    assert tracker.report(SECOND).outcome == Outcome.PROCESSED


def test_a_returned_line_is_not_settled(aws: FakeAws, tracker: Tracker, clock: Clock) -> None:
    tracker.follow(queued(FIRST, "m1"))
    aws.waiting = 1
    aws.record("m1", "RETRY", reason="HELD")
    clock.at[1005.0] = lambda: aws.record("m1", "DUPLICATE", reason="SAME_KEY")
    seen = wait(tracker, FIRST)
    assert (seen[0].settled, seen[0].returned) == (0, 1)
    assert (seen[-1].settled, seen[-1].returned) == (1, 0)
    assert tracker.report(FIRST).outcome == Outcome.DUPLICATE


@pytest.mark.parametrize("order", [1, -1])
def test_the_outcome_that_says_most_of_the_event_stands(
    aws: FakeAws, tracker: Tracker, order: int
) -> None:
    tracker.follow(queued(FIRST, "m1"))
    for outcome, reason in [("PROCESSED", "ACTED"), ("DUPLICATE", "SAME_KEY")][::order]:
        aws.record("m1", outcome, reason=reason)
    wait(tracker, FIRST)
    assert tracker.report(FIRST).outcome == Outcome.PROCESSED


def test_a_redelivery_of_a_parked_message_keeps_the_reason(aws: FakeAws, tracker: Tracker) -> None:
    tracker.follow(queued(FIRST, "m1"))
    aws.record("m1", "PARKED", reason="REJECTED")
    aws.record("m1", "PARKED", reason="SETTLED_BEFORE")
    wait(tracker, FIRST)
    assert tracker.report(FIRST).reason == "REJECTED"


def test_a_line_sent_twice_is_settled_with_both_its_messages(
    aws: FakeAws, tracker: Tracker, clock: Clock
) -> None:
    tracker.follow([*queued(FIRST, "m1"), *queued(FIRST, "m2")])
    aws.waiting = 1
    aws.record("m2", "DUPLICATE", because="run#m1")
    clock.at[1005.0] = lambda: aws.record("m1", "PROCESSED")
    assert {standing.settled for standing in wait(tracker, FIRST)} == {0, 1}
    assert clock.now >= 1005
    assert tracker.report(FIRST).outcome == Outcome.PROCESSED


def test_a_skipped_line_names_the_line_it_met(aws: FakeAws, tracker: Tracker) -> None:
    tracker.follow([*queued(FIRST, "m1"), *queued(SECOND, "m2")])
    aws.record("m1", "PROCESSED")
    aws.record("m2", "DUPLICATE", because="run#m1")
    wait(tracker, FIRST, SECOND)
    assert tracker.report(FIRST).because_of_line is None
    assert tracker.report(SECOND).because_of_line == 1


def test_a_line_on_the_bus_is_found_by_its_envelope(aws: FakeAws, tracker: Tracker) -> None:
    tracker.follow([Sent(FIRST, "envelope", "bus"), *queued(SECOND, "m2")])
    aws.record("m1", "PROCESSED", envelopeId="envelope")
    aws.record("m2", "DUPLICATE", because="run#m1")
    wait(tracker, FIRST, SECOND)
    assert (tracker.report(FIRST).outcome, tracker.report(FIRST).via) == ("PROCESSED", "bus")
    assert tracker.report(SECOND).because_of_line == 1


def test_a_record_that_comes_seconds_after_the_message_left_is_awaited(
    aws: FakeAws, tracker: Tracker, clock: Clock
) -> None:
    tracker.follow(queued(FIRST, "m1"))
    clock.at[1009.0] = lambda: aws.record("m1", "PROCESSED", reason="ACTED")
    wait(tracker, FIRST)
    assert tracker.report(FIRST).reason == "ACTED"


@pytest.mark.parametrize("which", ["", "NotVisible", "Delayed"])
def test_nothing_is_lost_before_the_queue_is_empty(
    aws: FakeAws, tracker: Tracker, clock: Clock, which: str
) -> None:
    tracker.follow(queued(FIRST, "m1"))

    def waits(count: int) -> None:
        aws.waiting, aws.which = count, which

    clock.at[1008.0] = lambda: waits(1)
    clock.at[1060.0] = lambda: waits(0)
    wait(tracker, FIRST)
    report = tracker.report(FIRST)
    assert report.outcome == Outcome.RETRY
    assert report.reason == "LEFT_THE_QUEUE_WITHOUT_AN_OUTCOME"
    assert clock.now == pytest.approx(1070, abs=2)


def test_a_line_that_no_rule_took_from_the_bus_says_so(tracker: Tracker) -> None:
    tracker.follow([Sent(FIRST, "envelope", "bus")])
    wait(tracker, FIRST)
    assert tracker.report(FIRST).reason == "NO_RULE_TOOK_IT"


def test_a_wait_ends_when_its_patience_does(aws: FakeAws, clock: Clock) -> None:
    tracker = Tracker(aws.client, OUTPUTS, 100, clock, clock.sleep)
    tracker.follow([*queued(FIRST, "m1"), *queued(SECOND, "m2")])
    aws.waiting = 1
    clock.at[1050.0] = lambda: aws.record("m1", "PROCESSED", reason="ACTED")
    clock.at[1060.0] = lambda: aws.record("m2", "RETRY", reason="CALL_FAILED")
    assert tracker.wait_for_one([[FIRST, SECOND]], lambda _: None) == [False]
    assert clock.now == pytest.approx(1150, abs=2)
    left, unsent = tracker.report(SECOND), tracker.report(Line(3, "{}"))
    assert (left.outcome, left.reason) == (Outcome.RETRY, "CALL_FAILED")
    assert (unsent.outcome, unsent.reason) == (Outcome.RETRY, "NOT_SENT")


def test_the_log_yields_each_record_once_and_late_ones_too(aws: FakeAws) -> None:
    log = OutcomeLog(aws, "outcomes")
    aws.events.append({"eventId": "metrics", "timestamp": 9_000_000, "message": '{"_aws": {}}'})
    aws.record("m1", "RETRY", at=9_000_000)
    assert [record.message_id for record in log.new()] == ["m1"]
    aws.record("m2", "PROCESSED", at=8_995_000, copyOf="m1")
    assert [(record.message_id, record.copy_of) for record in log.new()] == [("m2", "m1")]
    assert list(log.new()) == []


def test_a_waiter_waits_no_longer_than_it_may(aws: FakeAws, clock: Clock) -> None:
    waiter = Waiter(OutcomeLog(aws, "outcomes"), 1.0, clock, clock.sleep)
    clock.at[1003.0] = lambda: aws.record("m1", "RETRY", reason="HELD")
    assert not waiter.wait(lambda: waiter.end_of("m1") is not None, 10)
    assert clock.now == 1010
    last = waiter.last_of("m1")
    assert last is not None
    assert last.reason == "HELD"
    aws.record("m1", "PROCESSED")
    assert waiter.wait(lambda: waiter.end_of("m1") is not None, 0)


def ends(*endings: Ending) -> Failures:
    failures = Failures()
    for number, ending in enumerate(endings, 1):
        failures.note(Batch([], ending, frozenset(), 0.1, f"failure {number}"))
    return failures


def test_a_machine_that_never_settles_anything_ends_the_run_with_what_it_said() -> None:
    with pytest.raises(OnceError, match=r"failed 3 times .* failure 3$"):
        ends(*[Ending.TARGET_FAILED] * 3).check()


@pytest.mark.parametrize(
    "endings",
    [
        [Ending.TARGET_FAILED] * 2,
        [Ending.SUCCEEDED, *[Ending.TARGET_FAILED] * 3],
        [Ending.TARGET_FAILED, Ending.PARTIALLY_FAILED, *[Ending.TARGET_FAILED] * 3],
        [Ending.ENRICHMENT_FAILED] * 3,
    ],
)
def test_batches_that_fail_for_a_while_end_no_run(endings: list[Ending]) -> None:
    ends(*endings).check()
