"""Every line of a run is followed to its end: outcome, dead letter, or loss."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from once.embedded.pipe import Batch, Ending
from once.errors import OnceError
from once.lines import Line
from once.outcomes import Outcome
from once.records import OutcomeLog
from once.run.tracker import Standing, Tracker

OUTPUTS = {
    "OutcomeLogGroupName": "outcomes",
    "EventQueueUrl": "queue",
    "EventDeadLettersUrl": "dead",
    "RuleDeadLettersUrl": "rule-dead",
}
FIRST, SECOND = Line(1, "{}"), Line(2, "{}")


class FakeAws:
    """The outcome log and the queues of a stack."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.dead: dict[str, list[dict[str, Any]]] = {"dead": [], "rule-dead": []}
        self.waiting = 0
        self.which = "NotVisible"

    def client(self, _: str) -> "FakeAws":
        return self

    def get_paginator(self, _: str) -> "FakeAws":
        return self

    def paginate(self, logGroupName: str, startTime: int) -> list[dict[str, Any]]:  # noqa: N803
        assert logGroupName == "outcomes"
        return [{"events": [e]} for e in self.events if e["timestamp"] >= startTime]

    def record(self, message_id: str, outcome: str, at: int = 1_000_000, **more: Any) -> None:
        said = {"messageId": message_id, "outcome": outcome, **more}
        event = {"eventId": str(len(self.events)), "timestamp": at, "message": json.dumps(said)}
        self.events.append(event)

    def receive_message(self, QueueUrl: str, **_: Any) -> dict[str, Any]:  # noqa: N803
        messages, self.dead[QueueUrl] = self.dead[QueueUrl], []
        return {"Messages": messages} if messages else {}

    def get_queue_attributes(self, **_: Any) -> dict[str, Any]:
        kinds = ("", "NotVisible", "Delayed")
        return {
            "Attributes": {
                f"ApproximateNumberOfMessages{kind}": str(self.waiting * (kind == self.which))
                for kind in kinds
            }
        }


@pytest.fixture
def aws() -> FakeAws:
    return FakeAws()


@pytest.fixture
def tracker(aws: FakeAws) -> Tracker:
    tracker = Tracker()
    tracker.watch(aws.client, OUTPUTS)
    return tracker


def ends_well(tracker: Tracker) -> None:
    tracker.ended(Batch([], Ending.SUCCEEDED, frozenset(), 0.1))


def wait(tracker: Tracker, *lines: Line) -> list[Standing]:
    seen: list[Standing] = []
    tracker.wait(lines, seen.append)
    return seen


def test_a_line_is_settled_by_the_record_of_its_message(aws: FakeAws, tracker: Tracker) -> None:
    tracker.sent_to_queue(FIRST, "m1")
    aws.record("m1", "PROCESSED", pk="p", sk="s", reason="ACTED")
    wait(tracker, FIRST)
    report = tracker.report(FIRST)
    assert (report.outcome, report.reason, report.via) == (Outcome.PROCESSED, "ACTED", "queue")
    assert report.key is not None
    assert (report.key.pk, report.key.sk) == ("p", "s")


def test_a_record_may_come_before_the_answer_to_the_send(aws: FakeAws, tracker: Tracker) -> None:
    aws.record("m1", "PROCESSED")
    aws.record("m2", "PROCESSED")
    tracker.sent_to_queue(FIRST, "m1")
    wait(tracker, FIRST)
    tracker.sent_to_queue(SECOND, "m2")
    wait(tracker, SECOND)
    assert tracker.report(SECOND).outcome == Outcome.PROCESSED


def test_handed_back_is_not_settled(aws: FakeAws, tracker: Tracker) -> None:
    tracker.sent_to_queue(FIRST, "m1")
    aws.waiting = 1
    aws.record("m1", "RETRY", reason="HELD")
    seen: list[Standing] = []

    def later(standing: Standing) -> None:
        seen.append(standing)
        if len(seen) == 1:
            aws.record("m1", "DUPLICATE", reason="SAME_KEY")

    tracker.wait([FIRST], later)
    assert [(s.settled, s.handed_back) for s in seen] == [(0, 1), (1, 0)]
    assert tracker.report(FIRST).outcome == Outcome.DUPLICATE


def test_a_batch_that_ends_is_looked_at_without_waiting(
    aws: FakeAws, tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("once.run.tracker._QUEUE_SECONDS", 3_600)
    tracker.sent_to_queue(FIRST, "m1")

    def settle(_: Standing) -> None:
        aws.record("m1", "PROCESSED")
        ends_well(tracker)

    tracker.wait([FIRST], settle)
    assert tracker.report(FIRST).outcome == Outcome.PROCESSED


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_verdicts_that_of_the_event_stands(
    aws: FakeAws, tracker: Tracker, order: int
) -> None:
    tracker.sent_to_queue(FIRST, "m1")
    for outcome, reason in [("PROCESSED", "ACTED"), ("DUPLICATE", "SAME_KEY")][::order]:
        aws.record("m1", outcome, reason=reason)
    wait(tracker, FIRST)
    assert tracker.report(FIRST).outcome == Outcome.PROCESSED


def test_a_line_sent_twice_is_settled_with_both_its_messages(
    aws: FakeAws, tracker: Tracker
) -> None:
    tracker.sent_to_queue(FIRST, "m1")
    tracker.sent_to_queue(FIRST, "m2")
    aws.waiting = 1
    aws.record("m2", "DUPLICATE", because="run#m1")
    seen: list[int] = []

    def later(standing: Standing) -> None:
        seen.append(standing.settled)
        if len(seen) == 1:
            aws.record("m1", "PROCESSED")

    tracker.wait([FIRST], later)
    assert seen == [0, 1]
    assert tracker.report(FIRST).outcome == Outcome.PROCESSED


def test_the_wait_for_an_empty_queue_sees_what_comes_last(aws: FakeAws, tracker: Tracker) -> None:
    tracker.sent_to_queue(FIRST, "m1")
    aws.record("m1", "DUPLICATE")
    wait(tracker, FIRST)
    aws.record("m1", "PROCESSED")
    tracker.wait_until_empty()
    assert tracker.report(FIRST).outcome == Outcome.PROCESSED


def test_a_skipped_line_names_the_line_it_met(aws: FakeAws, tracker: Tracker) -> None:
    tracker.sent_to_queue(FIRST, "m1")
    tracker.sent_to_queue(SECOND, "m2")
    aws.record("m1", "PROCESSED")
    aws.record("m2", "DUPLICATE", because="run#m1")
    wait(tracker, FIRST, SECOND)
    assert tracker.report(FIRST).because_of_line is None
    assert tracker.report(SECOND).because_of_line == 1


@pytest.mark.parametrize("known_first", ["sent", "received"])
def test_a_line_on_the_bus_is_found_by_its_envelope(
    aws: FakeAws, tracker: Tracker, known_first: str
) -> None:
    delivered = [{"messageId": "m1", "body": '{"id": "envelope"}'}]
    if known_first == "sent":
        tracker.sent_to_bus(FIRST, "envelope")
        tracker.received(delivered)
    else:
        tracker.received(delivered)
        tracker.sent_to_bus(FIRST, "envelope")
    aws.record("m1", "PROCESSED")
    wait(tracker, FIRST)
    assert tracker.report(FIRST).via == "bus"


@pytest.mark.parametrize(
    ("queue", "message"),
    [
        ("dead", {"MessageId": "m1", "Body": "not json"}),
        ("rule-dead", {"MessageId": "of its own", "Body": '{"id": "envelope"}'}),
    ],
)
def test_a_dead_letter_keeps_retry_and_its_last_reason(
    aws: FakeAws, tracker: Tracker, queue: str, message: dict[str, str]
) -> None:
    if queue == "dead":
        tracker.sent_to_queue(FIRST, "m1")
        aws.record("m1", "RETRY", reason="SETUP_FAULT")
    else:
        tracker.sent_to_bus(FIRST, "envelope")
    aws.dead[queue] = [message]
    wait(tracker, FIRST)
    report = tracker.report(FIRST)
    assert report.outcome == Outcome.RETRY
    assert report.reason == ("SETUP_FAULT" if queue == "dead" else "DEAD_LETTER")
    assert tracker.dead_letters == 1


def test_a_line_that_left_every_queue_without_an_outcome_is_lost(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("once.run.tracker._LOST_AFTER_SECONDS", 0.0)
    tracker.sent_to_queue(FIRST, "m1")
    wait(tracker, FIRST)
    report = tracker.report(FIRST)
    assert report.outcome == Outcome.RETRY
    assert report.reason == "LEFT_THE_QUEUE_WITHOUT_AN_OUTCOME"
    assert tracker.dead_letters == 0


class Clock:
    """Time passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.at: dict[float, Callable[[], None]] = {}

    def monotonic(self) -> float:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += seconds
        for when in [when for when in self.at if when <= self.now]:
            self.at.pop(when)()


@pytest.fixture
def clock(tracker: Tracker, monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("once.run.tracker.time", clock)
    monkeypatch.setattr(tracker._batch_ended, "wait", clock.wait)
    return clock


def test_a_record_that_comes_seconds_after_the_message_left_is_awaited(
    aws: FakeAws, tracker: Tracker, clock: Clock
) -> None:
    tracker.sent_to_queue(FIRST, "m1")
    clock.at[1009.0] = lambda: aws.record("m1", "PROCESSED", reason="ACTED")
    wait(tracker, FIRST)
    assert tracker.report(FIRST).reason == "ACTED"


def test_nothing_is_lost_while_a_batch_is_at_work(tracker: Tracker, clock: Clock) -> None:
    tracker.sent_to_queue(FIRST, "m1")
    tracker.received([{"messageId": "m1", "body": "{}"}])
    clock.at[1060.0] = lambda: ends_well(tracker)
    wait(tracker, FIRST)
    assert clock.now == pytest.approx(1070, abs=2)


@pytest.mark.parametrize("which", ["", "NotVisible", "Delayed"])
def test_nothing_is_lost_while_a_message_waits_and_patience_starts_when_it_left(
    aws: FakeAws, tracker: Tracker, clock: Clock, which: str
) -> None:
    tracker.sent_to_queue(FIRST, "m1")

    def waits(count: int) -> None:
        aws.waiting, aws.which = count, which

    clock.at[1008.0] = lambda: waits(1)
    clock.at[1060.0] = lambda: waits(0)
    wait(tracker, FIRST)
    assert tracker.report(FIRST).reason == "LEFT_THE_QUEUE_WITHOUT_AN_OUTCOME"
    assert clock.now == pytest.approx(1070, abs=2)


def test_a_line_that_no_rule_took_from_the_bus_says_so(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("once.run.tracker._LOST_AFTER_SECONDS", 0.0)
    tracker.sent_to_bus(FIRST, "envelope")
    wait(tracker, FIRST)
    assert tracker.report(FIRST).reason == "NO_RULE_TOOK_IT"


def test_the_log_yields_each_record_once_and_late_ones_too(aws: FakeAws) -> None:
    log = OutcomeLog(aws, "outcomes")
    aws.events.append({"eventId": "metrics", "timestamp": 9_000_000, "message": '{"_aws": {}}'})
    aws.record("m1", "RETRY", at=9_000_000)
    assert [record.message_id for record in log.new()] == ["m1"]
    aws.record("m2", "PROCESSED", at=8_995_000, copyOf="m1")
    assert [(record.message_id, record.copy_of) for record in log.new()] == [("m2", "m1")]
    assert list(log.new()) == []


def ends(tracker: Tracker, *endings: Ending) -> None:
    for number, ending in enumerate(endings, 1):
        tracker.received([])
        tracker.ended(Batch([], ending, frozenset(), 0.1, f"failure {number}"))


def test_a_machine_that_never_settles_anything_ends_the_run_with_what_it_said(
    aws: FakeAws,
) -> None:
    tracker = Tracker(most_failures=3)
    tracker.watch(aws.client, OUTPUTS)
    tracker.sent_to_queue(FIRST, "m1")
    aws.waiting = 1
    ends(tracker, *[Ending.TARGET_FAILED] * 3)
    with pytest.raises(OnceError, match=r"failed 3 times .* failure 3$"):
        wait(tracker, FIRST)


@pytest.mark.parametrize(
    "endings",
    [
        [Ending.TARGET_FAILED] * 2,
        [Ending.SUCCEEDED, *[Ending.TARGET_FAILED] * 3],
        [Ending.TARGET_FAILED, Ending.PARTIALLY_FAILED, *[Ending.TARGET_FAILED] * 3],
        [Ending.ENRICHMENT_FAILED] * 3,
    ],
)
def test_batches_that_fail_for_a_while_end_no_run(aws: FakeAws, endings: list[Ending]) -> None:
    tracker = Tracker(most_failures=3)
    tracker.watch(aws.client, OUTPUTS)
    tracker.sent_to_queue(FIRST, "m1")
    aws.waiting = 1
    ends(tracker, *endings)

    def settle(_: Standing) -> None:
        aws.record("m1", "PROCESSED")

    tracker.wait([FIRST], settle)
    assert tracker.report(FIRST).outcome is Outcome.PROCESSED


def test_a_run_in_which_nothing_is_settled_any_more_ends_when_its_patience_does(
    aws: FakeAws,
) -> None:
    seconds = iter([0, *range(500, 2_000, 40)])  # deploying may take long
    tracker = Tracker(patience_seconds=100, clock=lambda: next(seconds))
    tracker.watch(aws.client, OUTPUTS)
    tracker.sent_to_queue(FIRST, "m1")
    tracker.sent_to_queue(SECOND, "m2")
    aws.waiting = 1
    seen: list[Standing] = []

    def show(standing: Standing) -> None:
        seen.append(standing)
        if len(seen) == 2:
            aws.record("m1", "PROCESSED", reason="ACTED")
            aws.record("m2", "RETRY", reason="CALL_FAILED")
        tracker.ended(Batch([], Ending.PARTIALLY_FAILED, frozenset(), 0.1))

    assert tracker.wait_for_one([[FIRST, SECOND]], show) == [False]
    assert [standing.settled for standing in seen[:3]] == [0, 0, 1]
    assert seen[-2].still_seconds <= 100 < seen[-1].still_seconds
    left, unsent = tracker.report(SECOND), tracker.report(Line(3, "{}"))
    assert (left.outcome, left.reason) == (Outcome.RETRY, "CALL_FAILED")
    assert (unsent.outcome, unsent.reason) == (Outcome.RETRY, "NOT_SENT")
