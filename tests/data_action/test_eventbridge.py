"""The target eventbridge: what is put on the bus, and what becomes of each answer of PutEvents."""

import json
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from moto import mock_aws
from once_data_action import handler
from once_data_action.bodies import Bodies
from once_data_action.breaker import Breaker
from once_data_action.errors import NotConfigured
from once_data_action.eventbridge import EventBridge
from once_data_action.handler import DataAction
from once_data_action.secret import REMEMBERED_MS
from once_data_action.settings import Settings

from tests.data_action.support import (
    BUCKET,
    REQUEST_MS,
    TABLE,
    Clock,
    FakeBucket,
    FakeTable,
    aws_error,
    event,
    payload,
    read_error,
)
from tests.data_action.test_canary import canary

BUS = "arn:aws:events:eu-central-1:111122223333:event-bus/lake"
SOURCE_BUS = BUS.replace("lake", "default")


class FakeEvents:
    """EventBridge, which answers as it is told and keeps what it was given."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.looked_up: list[str] = []
        self.error: Exception | None = None
        self.missing: Exception | None = None
        self.result: dict[str, str] = {"EventId": "e1"}

    def put_events(self, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.entries += Entries
        if self.error:
            raise self.error
        return {"FailedEntryCount": int("ErrorCode" in self.result), "Entries": [self.result]}

    def describe_event_bus(self, Name: str) -> dict[str, str]:  # noqa: N803
        self.looked_up.append(Name)
        if self.missing:
            raise self.missing
        return {"Name": Name}


class Bench:
    def __init__(self, own_name: str | None = "lake") -> None:
        self.clock, self.table, self.bucket = Clock(), FakeTable(), FakeBucket()
        self.events = FakeEvents()
        bodies = Bodies(BUCKET, lambda: self.bucket)  # type: ignore[arg-type, return-value]
        target = EventBridge(BUS, own_name, bodies, self.events, self.events, self.clock)
        breaker = Breaker(TABLE, self.table, self.clock)
        self.action = DataAction(target, breaker, REQUEST_MS, self.clock)

    def act(self, number: int = 1, **changes: Any) -> dict[str, Any]:
        changes = {"deadlineMs": self.clock() + 10_000, "pace": {"readMs": self.clock()}} | changes
        return self.action(payload(number, **changes), 20_000)

    def fails(self, number: int = 1, **changes: Any) -> tuple[str, dict[str, Any]]:
        with pytest.raises(Exception) as raised:  # noqa: PT011 - its class is what is asked
            self.act(number, **changes)
        return type(raised.value).__name__, read_error(raised.value)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_event_is_put_once_with_the_body_of_a_webhook(bench: Bench) -> None:
    result = bench.act()
    assert (result["result"], result["requests"]) == ("ACTED", 1)
    (entry,) = bench.events.entries
    detail = json.loads(entry.pop("Detail"))
    assert entry == {
        "EventBusName": BUS,
        "Source": "genesys-once",
        "DetailType": "conversation.user.end",
        "Resources": ["conversation/c1"],
        "Time": datetime(2026, 5, 4, 10, 0, 0, 123_000, UTC),
    }
    one = event()
    assert detail["idempotencyKey"] == one["idempotencyKey"]
    assert {name: detail[name] for name in ("version", "body", "trace")} == {
        "version": "1",
        "body": one["body"],
        "trace": one["trace"],
    }


def test_the_key_and_a_large_body_go_with_it(bench: Bench) -> None:
    bench.bucket.objects["events/1"] = b'{"large": true}'
    one = event()
    del one["body"]
    one["bodyRef"] = {"bucket": BUCKET, "key": "events/1"}
    key = f"{'0a' * 32}.1777888800123"
    bench.act(event=one, idempotencyKey=key)
    detail = json.loads(bench.events.entries[0]["Detail"])
    assert (detail["idempotencyKey"], detail["body"]) == (key, {"large": True})


@pytest.mark.parametrize("in_the_entry", [True, False], ids=["entry", "request"])
@pytest.mark.parametrize(
    ("code", "wanted", "for_all"),
    [
        ("ThrottlingException", "RateLimited", False),
        ("InternalFailure", "Transient", False),
        ("InternalException", "Transient", False),
        ("SomethingNew", "Transient", False),
        ("AccessDeniedException", "NotAuthorised", True),
        ("NotAuthorizedForSourceException", "NotAuthorised", True),
        ("InvalidAccountIdException", "NotAuthorised", True),
        ("ResourceNotFoundException", "NotConfigured", True),
        ("NotAuthorizedForDetailTypeException", "Rejected", False),
        ("InvalidArgument", "Rejected", False),
        ("MalformedDetail", "Rejected", False),
        ("RedactionFailure", "Rejected", False),
        ("ValidationException", "Rejected", False),
    ],
)
def test_each_error_code_is_one_error(
    bench: Bench, code: str, wanted: str, for_all: bool, in_the_entry: bool
) -> None:
    if in_the_entry:
        bench.events.result = {"ErrorCode": code, "ErrorMessage": "quotes +4915550001234"}
    else:
        bench.events.error = aws_error(code)
    name, message = bench.fails()
    assert (name, message["requests"]) == (wanted, 1)
    assert code in message["sentence"]
    assert "+4915550001234" not in message["sentence"]
    assert message.get("retryAfterSeconds") == (1 if wanted == "RateLimited" else None)
    bench.fails(2)
    assert len(bench.events.entries) == (1 if for_all else 2), "remembered, if it meets all"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (ReadTimeoutError(endpoint_url="https://events"), "may be on the bus"),
        (EndpointConnectionError(endpoint_url="https://events"), "was not reached"),
    ],
)
def test_a_lost_response_is_sent_again_under_the_same_key(
    bench: Bench, fault: Exception, says: str
) -> None:
    bench.events.error = fault
    name, message = bench.fails()
    assert name == "Transient"
    assert says in message["sentence"]
    bench.events.error = None
    bench.act(retry=1)
    first, second = (json.loads(entry["Detail"]) for entry in bench.events.entries)
    assert first == second


def test_a_missing_bus_is_found_out_although_putting_events_would_succeed(bench: Bench) -> None:
    bench.events.missing = aws_error("ResourceNotFoundException")
    name, message = bench.fails()
    assert name == "NotConfigured"
    assert "TargetBusArn" in message["sentence"]
    assert bench.events.entries == []
    bench.events.missing = None
    bench.clock.ahead_ms += REMEMBERED_MS
    assert bench.act()["result"] == "ACTED"


def test_the_bus_is_looked_up_again_after_a_minute(bench: Bench) -> None:
    for _ in range(3):
        bench.act()
    assert bench.events.looked_up == ["lake"]
    bench.clock.ahead_ms += 60_000
    bench.events.missing = aws_error("ResourceNotFoundException")
    assert bench.fails()[0] == "NotConfigured"
    assert len(bench.events.entries) == 3


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
def test_a_bus_that_cannot_be_looked_up_is_put_to(bench: Bench, code: str) -> None:
    bench.events.missing = aws_error(code)
    assert bench.act()["result"] == "ACTED"
    bench.act()
    assert len(bench.events.looked_up) == 2, "it is not known yet"


def test_a_bus_of_another_account_is_not_looked_up() -> None:
    bench = Bench(own_name=None)
    assert bench.act()["result"] == "ACTED"
    assert bench.events.looked_up == []


def test_a_canary_proves_the_path_under_a_source_of_its_own(bench: Bench) -> None:
    assert bench.act(event=canary())["result"] == "ACTED"
    assert bench.events.entries[0]["Source"] == "genesys-once.check"
    assert bench.fails(event=canary(refuseUntilMs=10**15))[0] == "Rejected"
    assert len(bench.events.entries) == 1
    bench.events.result = {"ErrorCode": "AccessDeniedException"}
    assert bench.fails(event=canary())[0] == "NotAuthorised"


def settings(**changes: str) -> dict[str, str]:
    given = {"ACTION_TARGET": "eventbridge", "TARGET_BUS_ARN": BUS, "SOURCE_BUS_ARN": SOURCE_BUS}
    return given | changes


@pytest.mark.parametrize(
    ("target", "own"),
    [
        (BUS, "lake"),
        (BUS.replace("1111", "9999"), None),
        (BUS.replace("eu-central-1", "us-east-1"), None),
    ],
)
def test_a_bus_is_known_as_ours_by_account_and_region(target: str, own: str | None) -> None:
    assert Settings.read(settings(TARGET_BUS_ARN=target)).own_bus == own


@pytest.mark.parametrize(
    ("target", "says"),
    [("", "TargetBusArn"), ("lake", "TargetBusArn"), (SOURCE_BUS, "the events come from")],
)
def test_a_wrong_bus_is_refused(target: str, says: str) -> None:
    with pytest.raises(NotConfigured, match=says):
        Settings.read(settings(TARGET_BUS_ARN=target))


def test_the_function_puts_events_with_clients_of_the_region_of_the_bus(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    for name, value in {**dict.fromkeys(names, "testing"), "AWS_DEFAULT_REGION": "x"}.items():
        monkeypatch.setenv(name, value)
    target = BUS.replace("111122223333", "123456789012")
    with mock_aws():
        events = boto3.client("events", region_name="eu-central-1")
        events.create_event_bus(Name="lake")
        archive = events.create_archive(ArchiveName="a", EventSourceArn=target)["ArchiveArn"]
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        read = Settings.read(
            settings(TARGET_BUS_ARN=target, SOURCE_BUS_ARN=f"{target}x", CLAIM_TABLE=TABLE)
        )
        action = handler.build(read)
        assert action(payload(deadlineMs=2_000_000_000_000), 20_000)["result"] == "ACTED"
        assert events.describe_archive(ArchiveName="a")["EventCount"] == 1, archive
