"""The target eventbridge: what is put on the bus, and each response of PutEvents."""

import json
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from moto import mock_aws
from once_data_action import handler
from once_data_action.action import REFUSED_MS
from once_data_action.eventbridge import EventBridge
from once_data_action.handler import Settings

from tests.action.support import TABLE, Site, aws_error, event, payload

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


@pytest.fixture
def service() -> FakeEvents:
    return FakeEvents()


@pytest.fixture
def bench(service: FakeEvents) -> Site:
    site = Site(target="eventbridge")
    site.driver.target = EventBridge(BUS, "lake", service, service, site.clock)
    return site


def test_event_is_put_once_with_the_body_of_a_webhook(bench: Site, service: FakeEvents) -> None:
    answer = bench.act()
    assert (answer["reason"], answer["requests"]) == ("ACTED", 1)
    (entry,) = service.entries
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
        "body": {"disconnectType": "PEER"},
        "trace": one["trace"],
    }


@pytest.mark.parametrize("in_the_entry", [True, False], ids=["entry", "request"])
@pytest.mark.parametrize(
    ("code", "wanted", "for_all"),
    [
        ("ThrottlingException", "RateLimited", False),
        ("SomethingNew", "Transient", False),
        ("AccessDeniedException", "NotAuthorised", True),
        ("ResourceNotFoundException", "NotConfigured", True),
        ("ValidationException", "Rejected", False),
    ],
)
def test_error_code_is_one_error(
    bench: Site, service: FakeEvents, code: str, wanted: str, for_all: bool, in_the_entry: bool
) -> None:
    if in_the_entry:
        service.result = {"ErrorCode": code, "ErrorMessage": "quotes +4915550001234"}
    else:
        service.error = aws_error(code)
    name, message = bench.fails()
    assert (name, message["requests"]) == (wanted, 1)
    assert code in message["cause"]
    assert "+4915550001234" not in message["cause"]
    bench.clock.pass_seconds(2)  # after a 429
    bench.fails(2)
    assert len(service.entries) == (1 if for_all else 2), "remembered, if it meets all"


@pytest.mark.parametrize(
    ("fault", "wanted", "says"),
    [
        (ReadTimeoutError(endpoint_url="https://events"), "Failed", "may be on the bus"),
        (EndpointConnectionError(endpoint_url="https://events"), "Transient", "was not reached"),
    ],
)
def test_lost_response_is_sent_again_under_the_same_key(
    bench: Site, service: FakeEvents, fault: Exception, wanted: str, says: str
) -> None:
    service.error = fault
    name, message = bench.fails()
    assert name == wanted
    assert says in message["cause"]
    service.error = None
    bench.act(retry=1)
    first, second = (json.loads(entry["Detail"]) for entry in service.entries)
    assert first == second


def test_missing_bus_is_noticed_although_putting_events_would_succeed(
    bench: Site, service: FakeEvents
) -> None:
    service.missing = aws_error("ResourceNotFoundException")
    name, message = bench.fails()
    assert name == "NotConfigured"
    assert "TargetArn" in message["cause"]
    assert service.entries == []
    service.missing = None
    bench.clock.ms += REFUSED_MS
    assert bench.act()["reason"] == "ACTED"


def test_bus_is_looked_up_again_after_a_minute(bench: Site, service: FakeEvents) -> None:
    for _ in range(3):
        bench.act()
    assert service.looked_up == ["lake"]
    bench.clock.ms += 60_000
    service.missing = aws_error("ResourceNotFoundException")
    assert bench.fails()[0] == "NotConfigured"
    assert len(service.entries) == 3


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
def test_bus_that_cannot_be_looked_up_is_put_to(
    bench: Site, service: FakeEvents, code: str
) -> None:
    service.missing = aws_error(code)
    assert bench.act()["reason"] == "ACTED"
    bench.act()
    assert len(service.looked_up) == 2, "it is not known yet"


def test_bus_of_another_account_is_not_looked_up(bench: Site, service: FakeEvents) -> None:
    bench.driver.target = EventBridge(BUS, None, service, service, bench.clock)
    assert bench.act()["reason"] == "ACTED"
    assert service.looked_up == []


def test_canary_goes_the_whole_path_under_a_source_of_its_own(
    bench: Site, service: FakeEvents
) -> None:
    assert bench.act(event=event(body="{}") | {"canary": True})["reason"] == "ACTED"
    assert service.entries[0]["Source"] == "genesys-once.check"
    refused = event(body='{"refuseUntilMs": 1e15}') | {"canary": True}
    assert bench.fails(event=refused)[0] == "Rejected"
    assert len(service.entries) == 1


def settings(**changes: str) -> dict[str, str]:
    given = {"ACTION_TARGET": "eventbridge", "TARGET_ARN": BUS, "SOURCE_BUS_ARN": SOURCE_BUS}
    return given | changes


@pytest.mark.parametrize(
    ("target", "own"),
    [
        (BUS, "lake"),
        (BUS.replace("1111", "9999"), None),
        (BUS.replace("eu-central-1", "us-east-1"), None),
    ],
)
def test_bus_is_known_as_ours_by_account_and_region(target: str, own: str | None) -> None:
    assert Settings.read(settings(TARGET_ARN=target)).own_bus == own


def test_function_puts_events_with_clients_of_the_region_of_the_bus(
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
        given = settings(TARGET_ARN=target, SOURCE_BUS_ARN=f"{target}x", CLAIM_TABLE=TABLE)
        driver = handler.build(Settings.read(given))
        assert driver(payload(), 13_000)["reason"] == "ACTED"
        assert events.describe_archive(ArchiveName="a")["EventCount"] == 1, archive
