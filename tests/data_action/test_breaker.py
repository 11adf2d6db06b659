"""Each request notes its end in the breaker's row, on a table that evaluates the conditions."""

from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ConnectTimeoutError
from moto import mock_aws
from once_data_action import breaker_row
from once_data_action.breaker import FRESH_MS, Breaker
from once_data_action.breaker_row import KEY
from once_data_action.errors import Paused
from once_data_action.request import ActionRequest
from once_pacing import breaker_row as pacing_row

from proof.template import CLAIM_TABLE
from tests.data_action.support import TABLE, Bench, aws_error, event, payload
from tests.data_action.test_canary import canary


@pytest.fixture
def bench(make: Callable[..., Bench], table: Any) -> Bench:
    made = make("webhook")
    object.__setattr__(made.action, "breaker", Breaker(TABLE, table, made.clock))
    return made


def row(table: Any) -> dict[str, Any] | None:
    found = table.get_item(TableName=TABLE, Key=KEY).get("Item")
    if found is None:
        return None
    plain = {name: value for name, value in found.items() if name not in KEY}
    return {
        name: set(value["SS"]) if "SS" in value else int(value["N"])
        for name, value in plain.items()
    }


def started_ms(message: dict[str, Any]) -> int:
    began: int = message["endedMs"] - message["durationMs"]
    return began


def answers(bench: Bench, *replies: object) -> None:
    bench.server.script.add({"replies": list(replies)})


def test_a_healthy_destination_costs_the_table_nothing(either: Bench) -> None:
    either.call()
    assert either.table.requests == []


@pytest.mark.parametrize("reply", [500, 408, "reset", "lose"])
def test_a_failed_call_is_noted_with_its_start_and_its_event(
    bench: Bench, table: Any, reply: object
) -> None:
    before = bench.clock()
    answers(bench, reply)
    _, message = bench.fails()
    noted = row(table)
    assert noted is not None
    assert noted["since"] == started_ms(message)
    assert before <= noted["since"] <= message["endedMs"] <= bench.clock()
    assert noted["failed"] == {event()["idempotencyKey"][:16]}
    assert noted["expires_at"] == pytest.approx(before // 1000 + 14 * 86_400, abs=5)


def test_since_stays_the_start_of_the_first_failure(bench: Bench, table: Any) -> None:
    answers(bench, 500, 500)
    first = started_ms(bench.fails(1)[1])
    bench.clock.ahead_ms += 1_000
    bench.fails(2)
    noted = row(table)
    assert noted is not None
    assert noted["since"] == first
    assert len(noted["failed"]) == 2


def test_an_event_that_failed_before_is_no_evidence(bench: Bench, table: Any) -> None:
    answers(bench, 500)
    _, message = bench.fails(failedBefore=True)
    noted = row(table)
    assert noted is not None
    assert noted.keys() == {"since", "expires_at"}
    assert noted["since"] == started_ms(message)


def test_a_login_that_fails_is_a_failed_call(make: Callable[..., Bench], table: Any) -> None:
    bench = make("genesys")
    object.__setattr__(bench.action, "breaker", Breaker(TABLE, table, bench.clock))
    bench.server.script.add({"match": {"endpoint": "token"}, "replies": [500]})
    _, message = bench.fails()
    noted = row(table)
    assert noted is not None
    assert (message["requests"], noted["since"]) == (1, started_ms(message))


@pytest.mark.parametrize("failed_before", [False, True])
def test_once_enough_events_failed_no_second_call_is_made_at_once(
    bench: Bench, table: Any, failed_before: bool
) -> None:
    answers(bench, *[500] * 21)
    names = [bench.fails(number)[0] for number in range(1, 21)]
    assert names == ["Transient"] * 19 + ["Failed"]
    assert bench.fails(21, failedBefore=failed_before)[0] == "Failed"
    noted = row(table)
    assert noted is not None
    assert len(noted["failed"]) == 20


@pytest.mark.parametrize(
    ("asked", "seconds"),
    [({}, 30), ({"retryAfter": "soon"}, 30)]
    + [({"retryAfter": after}, seconds) for after, seconds in ((0, 1), (5, 5), (4000, 180))],
)
def test_a_rate_limit_holds_everybody_and_is_no_failure(
    bench: Bench, table: Any, asked: dict[str, Any], seconds: int
) -> None:
    answers(bench, {"status": 429, **asked})
    name, message = bench.fails()
    noted = row(table)
    assert name == "RateLimited"
    assert noted is not None
    assert noted.keys() == {"since", "not_before", "expires_at"}
    assert noted["since"] == started_ms(message)
    assert noted["not_before"] - message["endedMs"] == pytest.approx(seconds * 1000, abs=200)


def test_a_shorter_rate_limit_does_not_shorten_a_longer_one(bench: Bench, table: Any) -> None:
    answers(bench, {"status": 503, "retryAfter": 100}, {"status": 429, "retryAfter": 2})
    bench.fails(1)
    longer = row(table)
    bench.fails(2)
    assert row(table) == longer


READ = {"since": 1_777_888_800_000, "readMs": 9_000_000_000_000}


def write(table: Any, **fields: int) -> None:
    item = KEY | {name: {"N": str(value)} for name, value in fields.items()}
    table.put_item(TableName=TABLE, Item=item)


@pytest.mark.parametrize("reply", [200, 204, 422, 400])
def test_an_answer_ends_what_the_batch_had_read(bench: Bench, table: Any, reply: int) -> None:
    write(table, since=READ["since"], not_before=READ["since"] + 30_000, open_until=5)
    answers(bench, reply)
    if reply < 300:
        bench.call(pace=READ)
    else:
        bench.fails(pace=READ)
    assert row(table) is None


def test_an_act_that_genesys_is_unsure_of_is_an_answer(genesys_action: Bench) -> None:
    answers(genesys_action, "processing")
    assert genesys_action.fails(pace=READ | {"since": 5})[0] == "Uncertain"
    assert [operation for operation, _ in genesys_action.table.requests] == ["DeleteItem"]


LATER = 9_000_000_000_000


@pytest.mark.parametrize(
    "there", [{"since": LATER}, {"since": 5, "not_before": LATER}], ids=["failure", "wait"]
)
def test_a_later_failure_and_a_wait_that_is_not_over_stay(
    bench: Bench, table: Any, there: dict[str, int]
) -> None:
    write(table, **there)
    assert bench.call(pace=READ | {"since": 5})["result"] == "ACTED"
    assert row(table) == there


def test_the_answered_retry_of_a_failed_request_ends_what_that_noted(
    bench: Bench, table: Any
) -> None:
    answers(bench, 500)
    bench.fails()
    assert row(table) is not None
    bench.clock.ahead_ms += 1_000
    bench.call(retry=1)
    assert row(table) is None


def test_a_slow_answer_ends_what_its_batch_could_not_have_read(bench: Bench, table: Any) -> None:
    write(table, since=5)
    answers(bench, 200, {"delayMs": 1_100}, {"delayMs": 1_100, "status": 422})
    bench.call(1)
    assert row(table) == {"since": 5}
    bench.call(2)
    assert row(table) is None
    write(table, since=5)
    bench.fails(3)
    assert row(table) is None


@pytest.mark.parametrize("reply", [401, 403, 404, 301])
def test_a_fault_of_the_set_up_says_nothing_of_the_destination(
    webhook_action: Bench, reply: int
) -> None:
    answers(webhook_action, reply)
    webhook_action.fails(pace=READ)
    assert webhook_action.table.requests == []


def test_what_was_not_called_notes_nothing(either: Bench) -> None:
    either.call(event=canary(), pace=READ)
    either.fails(event=canary(refuseUntilMs=10**15), pace=READ)
    either.fails(event=canary(failUntilMs=either.clock() + 60_000), pace=READ)
    either.fails(deadlineMs=1, pace=READ)
    assert either.table.requests == []


@pytest.mark.parametrize(
    "fault",
    [
        aws_error("ProvisionedThroughputExceededException"),
        aws_error("AccessDeniedException"),
        ConnectTimeoutError(endpoint_url="https://dynamodb"),
    ],
    ids=repr,
)
def test_a_note_that_cannot_be_made_changes_no_outcome(either: Bench, fault: Exception) -> None:
    either.table.error = fault
    assert either.call(pace=READ)["result"] == "ACTED"
    for reply, wanted in ((500, "Transient"), (429, "RateLimited"), (422, "Rejected")):
        answers(either, reply)
        assert either.fails(pace=READ)[0] == wanted
    assert len(either.table.requests) == 4


@pytest.mark.parametrize("stop", ["not_before", "open_until"])
@pytest.mark.parametrize("read_ms_ago", [FRESH_MS, None])
def test_a_pause_stops_the_requests_of_a_batch_that_began_before(
    bench: Bench, table: Any, stop: str, read_ms_ago: int | None
) -> None:
    write(table, since=5, **{stop: LATER})
    read = {} if read_ms_ago is None else {"readMs": bench.clock() - read_ms_ago}
    name, message = bench.fails(pace=read)
    assert (name, message["requests"]) == ("Paused", 0)
    assert bench.server.log == []
    assert row(table) == {"since": 5, stop: LATER}


def test_a_row_that_the_batch_has_just_read_is_not_read_again(either: Bench) -> None:
    either.call(pace={"readMs": either.clock() - FRESH_MS + 1_000})
    assert either.table.requests == []


def test_a_probe_is_stopped_by_a_pause_and_not_by_itself(bench: Bench, table: Any) -> None:
    probing = {"readMs": 1, "since": 5, "probe": LATER}
    write(table, since=5, not_before=LATER, open_until=LATER)
    assert bench.fails(pace=probing)[0] == "Paused"
    write(table, since=5, open_until=LATER)
    assert bench.call(pace=probing)["result"] == "ACTED"
    assert row(table) is None


def test_a_second_request_that_meets_a_pause_leaves_a_failed_one(bench: Bench, table: Any) -> None:
    write(table, since=5, not_before=LATER)
    name, message = bench.fails(pace={"readMs": 1}, retry=1)
    assert (name, message["requests"]) == ("Failed", 1)
    assert bench.server.log == []


def test_a_pause_that_is_over_stops_nothing_and_its_row_goes(bench: Bench, table: Any) -> None:
    write(table, since=5, not_before=6)
    assert bench.call(pace={"readMs": 1})["result"] == "ACTED"
    assert row(table) is None


def test_a_pause_is_over_at_its_time(table: Any) -> None:
    write(table, since=5, not_before=LATER)
    request = ActionRequest.read(payload(pace={"readMs": 1}, deadlineMs=1))
    assert Breaker(TABLE, table, lambda: LATER).refresh(request).pace.since_ms == 5
    with pytest.raises(Paused):
        Breaker(TABLE, table, lambda: LATER - 1).refresh(request)


def test_a_row_that_cannot_be_read_again_stops_nothing(either: Bench) -> None:
    either.table.error = aws_error("InternalServerError", 500)
    assert either.call(pace={})["result"] == "ACTED"


def test_a_rate_limit_does_not_shorten_a_pause(bench: Bench, table: Any) -> None:
    table.update_item(**pacing_row.pause(TABLE, "repairs", "ops", LATER, bench.clock()))
    paused = table.get_item(TableName=TABLE, Key=KEY)["Item"]
    answers(bench, {"status": 429, "retryAfter": 5})
    assert bench.fails()[0] == "RateLimited"
    assert table.get_item(TableName=TABLE, Key=KEY)["Item"] == paused


def test_a_probe_asks_again_what_the_environment_remembers_as_refused(
    genesys_action: Bench,
) -> None:
    genesys_action.server.client_secret = "another"
    for number in range(3):
        assert genesys_action.fails(number)[0] == "NotAuthorised"
    probing = {"readMs": genesys_action.clock(), "since": 5, "probe": LATER}
    assert genesys_action.fails(9, pace=probing)[1]["requests"] == 1
    assert len(genesys_action.server.received("token")) == 2


def test_the_requests_are_those_of_the_pacing_function() -> None:
    assert breaker_row.KEY == pacing_row.KEY
    assert breaker_row.MOST_FAILED == pacing_row.MOST_FAILED
    for keys in ([], ["a" * 16], ["b" * 16, "a" * 16]):
        ours = breaker_row.note_failure(TABLE, 5, keys, 9_000)
        assert ours == pacing_row.note_failure(TABLE, 5, keys, 9_000)
    for seconds in (None, 0, 1.5, 30, 4_000):
        until = breaker_row.rate_limited_until_ms(9_000, seconds)
        assert until == pacing_row.rate_limited_until_ms(9_000, seconds)
        ours = breaker_row.note_rate_limited(TABLE, 5, until, 9_000)
        assert ours == pacing_row.note_rate_limited(TABLE, 5, until, 9_000)
    assert breaker_row.read(TABLE) == pacing_row.read(TABLE)
    assert breaker_row.SLOW_MS == pacing_row.SLOW_MS
    assert breaker_row.clear(TABLE, 5) == pacing_row.clear(TABLE, 5)


@pytest.fixture
def table(dynamodb: Any) -> Any:
    dynamodb.delete_item(TableName=TABLE, Key=KEY)
    return dynamodb


@pytest.fixture(scope="module")
def dynamodb() -> Iterator[Any]:
    with mock_aws():
        client = boto3.client("dynamodb", region_name="eu-central-1")
        client.create_table(TableName=TABLE, **CLAIM_TABLE)
        yield client
