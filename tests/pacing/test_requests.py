"""The requests on the rows, held against DynamoDB's own conditions as moto plays them."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from moto import mock_aws
from once_pacing import breaker_row, handler, payload, steps
from once_pacing.breaker import Open, Probe, Row
from once_pacing.limiter import Limiter
from once_pacing.settings import Settings
from once_pacing.times import Times

from proof.template import CLAIM_TABLE, TEMPLATE
from proof.waiting.table import PaceTable

EXAMPLES = Path(__file__).parents[2] / "schemas" / "examples"
NOW = 1_777_888_800_000
TABLE = "claims"
# Few values, so that conditions hold as often as not.
TIMES = st.sampled_from([NOW + 1, NOW + 2, NOW + 3])
MAYBE = st.one_of(st.none(), TIMES)
SEEN = st.builds(Row, since_ms=MAYBE, open_until_ms=MAYBE, not_before_ms=MAYBE)
KEYS = st.lists(st.integers(0, 25).map("{:016x}".format), max_size=10, unique=True)
STEPS = st.one_of(
    st.just(steps.ReadRow()),
    st.builds(Open, SEEN, TIMES),
    st.builds(Probe, SEEN, TIMES),
    st.builds(steps.EndProbe, TIMES),
    st.builds(steps.NoteFailure, TIMES, KEYS),
    st.builds(steps.NoteRateLimited, TIMES, TIMES),
    st.builds(steps.Clear, TIMES),
    st.builds(steps.TakeTokens, st.just(7), st.integers(1, 4), st.just(5)),
    st.builds(steps.GiveBackTokens, st.just(7), st.integers(1, 4)),
)


def test_the_row_is_read_where_the_machine_reads_it_and_as_it_is_now() -> None:
    assert breaker_row.read(TABLE) == {
        "TableName": TABLE,
        "Key": {"pk": {"S": "pace"}, "sk": {"S": "breaker"}},
        "ConsistentRead": True,
    }


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        client("dynamodb").create_table(TableName=TABLE, **CLAIM_TABLE)
        yield


@cache
def client(name: str) -> Any:
    """A client of the imitation, whose making takes longer than most tests."""
    return boto3.client(name)


@pytest.fixture
def queue_url(aws: None) -> str:  # noqa: ARG001
    return str(client("sqs").create_queue(QueueName="events")["QueueUrl"])


def world(queue_url: str = "") -> handler.World:
    dynamodb = client("dynamodb")
    return handler.World(
        TABLE, queue_url, dynamodb, lambda: dynamodb, client("sqs"), lambda: NOW, print
    )


def items() -> list[dict[str, Any]]:
    return list(client("dynamodb").scan(TableName=TABLE)["Items"])


def empty_the_table() -> None:
    for item in items():
        key = {"pk": item["pk"], "sk": item["sk"]}
        client("dynamodb").delete_item(TableName=TABLE, Key=key)


@pytest.mark.usefixtures("aws")
@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(taken=st.lists(STEPS, max_size=8))
def test_the_modelled_rows_answer_as_the_table_does(taken: list[Any]) -> None:
    empty_the_table()
    real, modelled = world(), PaceTable()
    for step in [*taken, steps.ReadRow()]:
        answers = real.take(step), modelled.take(step, NOW)
        if isinstance(step, steps.ReadRow | steps.TakeTokens):
            assert answers[0] == answers[1], (step, taken)
        else:  # of a write only whether it was made
            assert bool(answers[0]) == bool(answers[1]), (step, taken)


@pytest.mark.usefixtures("aws")
def test_every_write_renews_the_end_of_the_row_and_a_slot_ends_within_the_hour() -> None:
    fortnight = str(NOW // 1000 + 14 * 86_400)
    for step in (
        steps.NoteFailure(NOW, ["0" * 16]),
        Open(Row(NOW), NOW + 1),
        Probe(Row(NOW, open_until_ms=NOW + 1), NOW + 2),
        steps.EndProbe(NOW + 2),
        steps.NoteRateLimited(NOW, NOW + 9),
    ):
        dynamodb = client("dynamodb")
        for item in items():
            key = {"pk": item["pk"], "sk": item["sk"]}
            dynamodb.update_item(TableName=TABLE, Key=key, UpdateExpression="REMOVE expires_at")
        assert world().take(step)
        assert [item["expires_at"]["N"] for item in items()] == [fortnight], step
    empty_the_table()
    world().take(steps.TakeTokens(7, 1, 10))
    assert items()[0]["expires_at"]["N"] == str(NOW // 1000 + 3_600)


@pytest.mark.usefixtures("aws")
def test_a_pause_stops_a_probe_of_a_batch_that_had_not_read_it() -> None:
    world().take(steps.NoteRateLimited(NOW, NOW + 60_000))
    paused = world().take(steps.ReadRow())
    assert paused.not_before_ms == NOW + 60_000
    assert not world().take(Probe(replace(paused, not_before_ms=None), NOW + 20_000))
    assert world().take(steps.ReadRow()) == paused
    assert world().take(Probe(paused, NOW + 20_000))


@pytest.mark.usefixtures("aws")
def test_a_pause_reads_as_such_and_resuming_removes_it() -> None:
    dynamodb = client("dynamodb")
    dynamodb.update_item(**breaker_row.pause(TABLE, "repairs", "ada", NOW + 1_800_000, NOW))
    assert world().take(steps.ReadRow()) == Row(NOW, not_before_ms=NOW + 1_800_000, held="repairs")
    dynamodb.update_item(**breaker_row.pause(TABLE, "repairs", "ada", NOW + 60_000, NOW + 5))
    assert world().take(steps.ReadRow()) == Row(NOW, not_before_ms=NOW + 60_000, held="repairs")
    dynamodb.delete_item(**breaker_row.end_pause(TABLE))
    assert items() == []


@pytest.mark.parametrize("paused", [True, False])
@pytest.mark.usefixtures("aws")
def test_resuming_in_an_outage_keeps_its_beginning(paused: bool) -> None:
    """So the next failure of an event that had failed in it is no try."""
    dynamodb, model = client("dynamodb"), PaceTable()
    failed = steps.NoteFailure(NOW - 60_000, ["a" * 16])
    world().take(failed)
    model.take(failed, NOW)
    assert world().take(Open(Row(NOW - 60_000, 1), NOW + 20_000))
    if paused:
        dynamodb.update_item(**breaker_row.pause(TABLE, "repairs", "ada", NOW + 9_000, NOW))
        model.pause("repairs", NOW + 9_000, NOW)
    with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.delete_item(**breaker_row.end_pause(TABLE))
    dynamodb.update_item(**breaker_row.resume(TABLE))
    model.resume()
    assert world().take(steps.ReadRow()) == model.row == Row(NOW - 60_000)


@pytest.mark.usefixtures("aws")
def test_a_pause_that_met_a_failure_is_no_healthy_one_when_it_ends() -> None:
    dynamodb = client("dynamodb")
    dynamodb.update_item(**breaker_row.pause(TABLE, "repairs", "ada", NOW + 9_000, NOW))
    world().take(steps.NoteFailure(NOW + 1_000, ["a" * 16]))
    with pytest.raises(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.delete_item(**breaker_row.end_pause(TABLE))


@pytest.mark.usefixtures("aws")
def test_a_failure_is_answered_with_how_many_have_failed() -> None:
    dynamodb = client("dynamodb")
    dynamodb.update_item(**breaker_row.note_failure(TABLE, NOW, ["a" * 16], NOW))
    request = breaker_row.note_failure(TABLE, NOW, ["b" * 16], NOW)
    assert dynamodb.update_item(**request)["Attributes"]["failed"]["SS"] == ["a" * 16, "b" * 16]


@pytest.mark.parametrize(
    ("asked", "seconds"), [(None, 30), (0, 1), (1, 1), (179.5, 179.5), (86_400, 180)]
)
def test_a_429_is_obeyed_within_a_second_and_three_minutes(
    asked: float | None, seconds: float
) -> None:
    assert breaker_row.rate_limited_until_ms(NOW, asked) == NOW + seconds * 1_000


def test_the_function_paces_a_batch_from_its_first_question_to_its_return_time(
    queue_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handler, "_world", lambda: world(queue_url))
    monkeypatch.setattr(handler, "_now_ms", lambda: NOW)
    monkeypatch.setattr(handler, "_settings", lambda: Settings(Limiter(300), Times.of()))
    sqs = client("sqs")
    sqs.send_message(QueueUrl=queue_url, MessageBody="an event")
    (message,) = sqs.receive_message(QueueUrl=queue_url, VisibilityTimeout=480)["Messages"]

    begin = json.loads((EXAMPLES / "pace-begin.json").read_text()) | {"deadlineMs": NOW + 165_000}
    del begin["breaker"]
    answer = handler.handler(begin, None)
    assert answer["tokens"] == 2

    end = json.loads((EXAMPLES / "pace-end.json").read_text())
    end["pace"] = answer
    event, *gone = end["batch"]
    event["receiptHandle"] = message["ReceiptHandle"]
    for one in gone:
        one["receiptHandle"] = message["ReceiptHandle"][:-4] + "gone"
    returned = handler.handler(end, None)["returns"]
    assert [one["messageId"] for one in returned] == [event["messageId"]]
    slots = {item["sk"]["S"]: item.get("used", {}).get("N") for item in items()}
    assert slots[f"slot/{answer['slot']}"] == "1"


def test_a_table_that_does_not_answer_is_an_error_before_the_calls_and_none_after(
    queue_url: str,
) -> None:
    real = world(queue_url)
    client("dynamodb").delete_table(TableName=TABLE)
    plain = Settings(None, Times.of())
    begin = payload.Begin(NOW, NOW, None, True, [payload.Candidate("a", NOW, 1, NOW)])
    with pytest.raises(steps.UnansweredError):
        real.run(steps.begin(begin, plain, lambda: NOW, lambda: 0.5))
    end = payload.End(NOW, None, payload.Pace(probe_ms=NOW), 0, True, (), None, None, True, ())
    assert real.run(steps.end(end, plain, lambda: NOW, lambda: 0.5)) == {"returns": []}


def test_the_settings_come_from_the_environment_and_are_production_without_one() -> None:
    assert Settings.read({}) == Settings(None, Times.of())
    assert Settings.read(
        {"MAX_ACTIONS_PER_MINUTE": "300", "CALL_SECONDS": "3", "PACE_SCALE": "0.1"}
    ) == Settings(Limiter(300), Times.of(3_000, 0.1))


@pytest.mark.parametrize(
    "question", [None, {}, {"version": "2", "ask": "begin"}, {"version": "1", "ask": "end"}]
)
def test_a_question_of_another_release_says_what_to_do(question: Any) -> None:
    with pytest.raises(payload.NotUnderstoodError, match="from the same release"):
        payload.read(question)


def test_a_number_may_come_as_jsonata_writes_it() -> None:
    begin = json.loads((EXAMPLES / "pace-begin.json").read_text())
    begin["breaker"]["since"] = 1.777888788e12
    read = payload.read(begin)
    assert isinstance(read, payload.Begin)
    assert read.breaker == Row(1_777_888_788_000, 20)


def test_every_field_of_the_first_question_is_read() -> None:
    breaker = {"since": 1, "failed": 20, "openUntil": 2, "notBefore": 3, "held": "ada"}
    event = {"messageId": "a", "occurredAtMs": 4, "receives": 5, "sentAtMs": 6}
    asked = {"version": "1", "ask": "begin", "startedMs": 3, "deadlineMs": 7, "events": [event]}
    copy = {**event, "messageId": "c", "copyOf": "a"}
    asked["events"] = [event, copy]
    candidates = [payload.Candidate("a", 4, 5, 6, ["c"])]
    assert payload.read(asked) == payload.Begin(3, 7, None, False, candidates)
    assert payload.read(asked | {"breaker": breaker, "breakerUnread": True}) == payload.Begin(
        3, 7, Row(1, 20, 2, 3, "ada"), True, candidates
    )


class Queue:
    """SQS that refuses one receipt and takes the others."""

    def __init__(self) -> None:
        self.asked: list[list[dict[str, Any]]] = []

    def change_message_visibility_batch(self, **request: Any) -> dict[str, Any]:
        assert request["QueueUrl"] == "queue"
        self.asked.append(request["Entries"])
        failed = [one for one in request["Entries"] if one["ReceiptHandle"] == "receipt 11"]
        return {
            "Successful": [{"Id": one["Id"]} for one in request["Entries"] if one not in failed],
            "Failed": [
                {"Id": one["Id"], "Code": "Gone", "Message": "it is gone"} for one in failed
            ],
        }

    def get_queue_attributes(self, **request: Any) -> dict[str, Any]:
        held = {"ApproximateNumberOfMessages": "3", "ApproximateNumberOfMessagesNotVisible": "40"}
        return {"Attributes": {name: held[name] for name in request["AttributeNames"]}}


@pytest.mark.usefixtures("aws")
def test_return_times_are_set_ten_at_a_time_and_a_refusal_is_logged_and_not_claimed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue = Queue()
    returns = [steps.Return(f"receipt {at}", 100 + at) for at in range(25)]
    taken = replace(world("queue"), sqs=queue).take(steps.SetReturns(returns))
    assert [len(part) for part in queue.asked] == [10, 10, 5]
    asked = [(e["ReceiptHandle"], e["VisibilityTimeout"]) for part in queue.asked for e in part]
    assert asked == [(one.receipt, one.seconds) for one in returns]
    assert taken == {one.receipt for one in returns} - {"receipt 11"}
    assert [record.getMessage() for record in caplog.records] == ["a return time was refused: Gone"]


@pytest.mark.usefixtures("aws")
def test_the_backlog_is_what_waits_and_what_is_in_flight() -> None:
    assert replace(world(), sqs=Queue()).take(steps.CountMessages()) == 43


@pytest.mark.usefixtures("aws")
def test_the_function_knows_its_stack_from_the_environment() -> None:
    found = handler.world(Settings.read({"CLAIM_TABLE": "claims", "EVENT_QUEUE_URL": "queue"}))
    assert (found.table, found.queue_url) == ("claims", "queue")
    assert abs(found.now_ms() - time.time() * 1_000) < 60_000
    slept = []
    replace(found, sleep=slept.append).take(steps.Sleep(1_500))
    assert slept == [1.5]


@pytest.mark.usefixtures("aws")
def test_pacing_repeats_no_unsafe_write_and_ends_before_its_function() -> None:
    found = handler.world(Settings.read({"CLAIM_TABLE": "claims", "EVENT_QUEUE_URL": "queue"}))
    assert found.once_dynamodb().meta.config.retries["total_max_attempts"] == 1
    for client in (found.dynamodb, found.sqs, found.once_dynamodb()):
        config = client.meta.config
        attempts = config.retries.get("total_max_attempts", 3)
        longest = attempts * (config.connect_timeout + config.read_timeout)
        assert longest < TEMPLATE["Mappings"]["Durations"]["production"]["Pacing"]
