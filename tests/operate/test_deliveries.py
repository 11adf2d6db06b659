"""Deliveries as lines: each with its time, and equal hand-backs that follow each other folded."""

from typing import Any

from once.operate.deliveries import Delivery, lines
from once.operate.explain import Explanation, Subject, _event, _view
from once.operate.story import tell
from once.records import OutcomeRecord

START = 1_795_000_000_000  # 11:06:40


def delivery(after_s: int, outcome: str, reason: str, **more: Any) -> Delivery:
    said = {"messageId": "m1", "outcome": outcome, "reason": reason}
    at_ms = START + after_s * 1000
    return Delivery.of(OutcomeRecord.model_validate({**said, "recordedAtMs": at_ms, **more}))


WAITED = [delivery(at, "RETRY", "BREAKER_OPEN") for at in range(0, 140, 20)]
ACTED = delivery(140, "PROCESSED", "ACTED")


def test_equal_hand_backs_are_one_line_with_how_often_and_from_when_to_when() -> None:
    assert list(lines([*WAITED, ACTED], unfolded=False, settled_as="PROCESSED")) == [
        (
            START,
            "waited 7 times, 11:06:40 to 11:08:40: calls paused: the destination was down or "
            "limited them, or a person held them",
        ),
        (START + 140_000, "PROCESSED"),
    ]


def test_all_of_them_are_shown_when_asked_for() -> None:
    shown = list(lines([*WAITED, ACTED], unfolded=True, settled_as="PROCESSED"))
    assert [at_ms for at_ms, _ in shown] == [START + at * 1000 for at in range(0, 160, 20)]
    assert shown[0][1] == (
        "handed back: calls paused: the destination was down or limited them, or a person held them"
    )


def test_a_correlation_id_that_is_another_each_time_keeps_nothing_apart() -> None:
    alike = [
        delivery(at, "RETRY", "CALL_FAILED", status=502, cause=f"HTTP 502 (correlation {at})")
        for at in (0, 30)
    ]
    ((_, said),) = lines(alike, unfolded=False, settled_as="")
    assert said.startswith("waited 2 times")
    assert "correlation 30" in said, "the newest is the one to ask for"


def test_hand_backs_that_differ_in_reason_or_answer_stay_apart() -> None:
    differ = [
        delivery(0, "RETRY", "CALL_FAILED", status=502, tries=1),
        delivery(30, "RETRY", "CALL_FAILED", status=502, tries=2),
        delivery(90, "RETRY", "CALL_FAILED", status=503, tries=3, returnsAtMs=START + 270_000),
    ]
    assert [said for _, said in lines(differ, unfolded=False, settled_as="")] == [
        "waited 2 times, 11:06:40 to 11:07:10: the destination failed it: HTTP 502",
        "handed back: the destination failed it: HTTP 503; comes back at 11:11:10",
    ]


def test_what_waited_over_midnight_is_said_with_its_days() -> None:
    long = [delivery(at, "RETRY", "BREAKER_OPEN") for at in (0, 86_400)]
    ((_, said),) = lines([*long], unfolded=False, settled_as="")
    assert "waited 2 times, 2026-11-18 11:06:40 to 2026-11-19 11:06:40" in said


def test_without_a_return_time_the_queue_decides() -> None:
    ((_, said),) = lines([delivery(0, "RETRY", "HELD")], unfolded=False, settled_as="")
    assert said.endswith("comes back after the queue's own time, some minutes")


def test_a_delivery_after_the_end_has_a_line_of_its_own() -> None:
    again = delivery(200, "PROCESSED", "SETTLED_BEFORE")
    shown = [said for _, said in lines([ACTED, again], unfolded=False, settled_as="PROCESSED: it")]
    assert shown == [
        "PROCESSED: it",
        "PROCESSED: settled by an earlier delivery of the same message",
    ]


def test_what_the_destination_said_is_the_reason_and_of_what_is_given_up_a_detail() -> None:
    cause = "the Genesys login answered 401 (bad.credentials)"
    assert delivery(0, "RETRY", "SETUP_FAULT", status=401, cause=cause).why == cause
    waited = delivery(0, "PARKED", "WAITED_TOO_LONG", status=401, cause=cause)
    assert waited.why == f"it waited for 10 days: {cause}"


def test_explain_gives_every_line_its_time_and_its_day_where_it_is_another() -> None:
    place = {"pk": "org/conversation/c1", "sk": "v1/conversation.customer.start/p/s/1"}
    said = {**place, "messageId": "m1", "family": "conversation.customer.start"}
    waited = [
        OutcomeRecord.model_validate(
            {**said, "outcome": "RETRY", "reason": "BREAKER_OPEN", "recordedAtMs": START + at}
        )
        for at in (0, 20_000, 40_000)
    ]
    acted = {**said, "outcome": "PROCESSED", "reason": "ACTED", "recordedAtMs": START + 86_400_000}
    events = tell(
        [
            record.model_copy(update={"occurred_at_ms": START})
            for record in [*waited, OutcomeRecord.model_validate(acted)]
        ],
        [],
        START + 86_400_000,
    )
    folded, unfolded = (
        [line for event in events for line in _event(event, unfolded=all_)]
        for all_ in (False, True)
    )
    assert folded[0] == (
        START,
        "11:06:40.000 [green]✓[/]  ",
        "[bold]customer arrives[/] — acted once",
    )
    assert folded[1][:2] == (START, "  11:06:40.000  ")
    assert folded[1][2].startswith("m1 waited 3 times, 11:06:40 to 11:07:20: ")
    assert folded[2] == (START + 86_400_000, "  11:06:40.000  ", "m1 PROCESSED")
    assert len(unfolded) == len(folded) + 2


def explanation(*records: OutcomeRecord) -> list[str]:
    subject = Subject(pk="org/conversation/c1", events=tell(records, [], START))
    explained = Explanation(
        id="c1",
        days=14,
        subjects=[subject],
        executions={},
        only_observes=False,
        waiting=0,
        complete=True,
    )
    return list(_view(explained, unfolded=False, verbose=False))


def recorded(message_id: str, at_ms: int, outcome: str, **more: Any) -> OutcomeRecord:
    said = {"pk": "org/conversation/c1", "sk": "v1/conversation.customer.start/p/s/1"}
    said |= {"messageId": message_id, "outcome": outcome, "occurredAtMs": START}
    said |= {"family": "conversation.customer.start", "recordedAtMs": at_ms}
    return OutcomeRecord.model_validate({**said, **more})


def test_lines_of_an_event_are_in_the_order_of_time_and_name_the_day_where_it_changes() -> None:
    day = 86_400_000
    said = explanation(
        recorded("m1", START + day, "RETRY", reason="CALL_FAILED", calls=2, cause="no answer"),
        recorded("m2", START + day + 2_000, "RETRY", reason="HELD", because="run#m1"),
        recorded("m1", START + day + 3_000, "PROCESSED", reason="ACTED", calls=2, status=200),
    )
    assert [line for line in said[2:] if "asked" not in line or "✓" in line][:6] == [
        "[dim]2026-11-18 (UTC)[/]",
        "11:06:40.000 [yellow]✓[/]  [bold]customer arrives[/] — [yellow]acted; asked 4 times, and "
        "may have acted more than once[/]",
        "  [dim]2026-11-19 (UTC)[/]",
        "  11:06:40.000  m1 handed back, 2 calls, the last: no answer",
        said[6],
        "  11:06:43.000  m1 PROCESSED, 2 calls, the last answered 200",
    ]
    assert said[6].startswith("  11:06:42.000  m2 handed back: ")


def test_what_is_given_up_says_that_it_was_the_last_try_and_what_it_was_answered() -> None:
    said = explanation(
        recorded(
            "m1", START, "PARKED", reason="GAVE_UP", calls=2, tries=3, status=500, cause="HTTP 500"
        )
    )
    assert "m1 PARKED, 2 calls, the last: HTTP 500; its last try, 3 of 3 (MaxTries)" in said[4]
