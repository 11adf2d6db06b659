"""The target eventbridge: what is put on the bus, and each response of PutEvents."""

from datetime import UTC, datetime
from typing import Any
from unittest.mock import Mock

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from once_data_action import handler
from once_data_action.action import REFUSED_MS
from once_data_action.eventbridge import EventBridge
from once_data_action.handler import Settings
from once_data_action.request import ActionRequest, webhook_text

from tests.action.support import TABLE, Site, aws_error, event, payload

BUS = "arn:aws:events:eu-central-1:111122223333:event-bus/lake"
SOURCE_BUS = BUS.replace("lake", "default")


@pytest.fixture
def service() -> Mock:
    service = Mock()
    service.put_events.return_value = {"Entries": [{"EventId": "e1"}]}
    return service


@pytest.fixture
def bench(service: Mock) -> Site:
    site = Site(target="eventbridge")
    site.driver.target = EventBridge(BUS, "lake", service, service, site.clock)
    return site


def entries(service: Mock) -> list[dict[str, Any]]:
    """Returns what was put on the bus."""
    return [call.kwargs["Entries"][0] for call in service.put_events.call_args_list]


def test_event_is_put_once_with_the_body_of_a_webhook(bench: Site, service: Mock) -> None:
    answer = bench.act()
    assert (answer["reason"], answer["requests"]) == ("ACTED", 1)
    (entry,) = entries(service)
    assert entry.pop("Detail") == webhook_text(ActionRequest.read(payload()))
    assert entry == {
        "EventBusName": BUS,
        "Source": "genesys-once",
        "DetailType": "conversation.user.end",
        "Resources": ["conversation/c1"],
        "Time": datetime(2026, 5, 4, 10, 0, 0, 123_000, UTC),
    }


# test_docs.py has the error of every code.
@pytest.mark.parametrize("in_the_entry", [True, False], ids=["entry", "request"])
@pytest.mark.parametrize(
    ("code", "wanted", "for_all"),
    [
        ("ThrottlingException", "RateLimited", False),
        ("SomethingNew", "Transient", False),
        ("AccessDeniedException", "NotAuthorised", True),
        ("ResourceNotFoundException", "NotConfigured", True),
    ],
)
def test_error_code_is_one_error(
    bench: Site, service: Mock, code: str, wanted: str, for_all: bool, in_the_entry: bool
) -> None:
    if in_the_entry:
        failed = {"ErrorCode": code, "ErrorMessage": "quotes +4915550001234"}
        service.put_events.return_value = {"Entries": [failed]}
    else:
        service.put_events.side_effect = aws_error(code)
    name, facts = bench.fails()
    assert (name, facts["requests"]) == (wanted, 1)
    assert code in facts["cause"]
    assert "+4915550001234" not in facts["cause"]
    bench.clock.pass_seconds(2)  # after a 429
    bench.fails(2)
    assert len(entries(service)) == (1 if for_all else 2), "remembered, if it meets all"


@pytest.mark.parametrize(
    ("fault", "wanted", "says"),
    [
        (ReadTimeoutError(endpoint_url="https://events"), "Failed", "may be on the bus"),
        (EndpointConnectionError(endpoint_url="https://events"), "Transient", "was not reached"),
    ],
)
def test_lost_response_is_sent_again_under_the_same_key(
    bench: Site, service: Mock, fault: Exception, wanted: str, says: str
) -> None:
    service.put_events.side_effect = fault
    name, facts = bench.fails()
    assert name == wanted
    assert says in facts["cause"]
    service.put_events.side_effect = None
    bench.act(retry=1)
    first, second = entries(service)
    assert first == second


def test_missing_bus_is_noticed_within_a_minute_and_when_it_is_back(
    bench: Site, service: Mock
) -> None:
    for _ in range(3):
        bench.act()
    service.describe_event_bus.assert_called_once_with(Name="lake")
    bench.clock.ms += 60_000
    service.describe_event_bus.side_effect = aws_error("ResourceNotFoundException")
    name, facts = bench.fails()
    assert name == "NotConfigured"
    assert "TargetArn" in facts["cause"]
    assert len(entries(service)) == 3, "putting events would succeed"
    service.describe_event_bus.side_effect = None
    bench.clock.ms += REFUSED_MS
    assert bench.act()["reason"] == "ACTED"


@pytest.mark.parametrize("code", ["AccessDeniedException", "ThrottlingException"])
def test_bus_that_cannot_be_looked_up_is_put_to(bench: Site, service: Mock, code: str) -> None:
    service.describe_event_bus.side_effect = aws_error(code)
    assert [bench.act()["reason"] for _ in "12"] == ["ACTED", "ACTED"]
    assert service.describe_event_bus.call_count == 2, "it is not known yet"


def test_bus_of_another_account_is_not_looked_up(bench: Site, service: Mock) -> None:
    bench.driver.target = EventBridge(BUS, None, service, service, bench.clock)
    assert bench.act()["reason"] == "ACTED"
    service.describe_event_bus.assert_not_called()


def test_canary_goes_the_whole_path_under_a_source_of_its_own(bench: Site, service: Mock) -> None:
    assert bench.act(event=event(body="{}") | {"canary": True})["reason"] == "ACTED"
    assert entries(service)[0]["Source"] == "genesys-once.check"
    refused = event(body='{"refuseUntilMs": 1e15}') | {"canary": True}
    assert bench.fails(event=refused)[0] == "Rejected"
    assert len(entries(service)) == 1


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
    aws: pytest.MonkeyPatch,
) -> None:
    target = BUS.replace("111122223333", "123456789012")
    events = boto3.client("events")
    events.create_event_bus(Name="lake")
    events.create_archive(ArchiveName="a", EventSourceArn=target)
    aws.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    given = settings(TARGET_ARN=target, SOURCE_BUS_ARN=f"{target}x", CLAIM_TABLE=TABLE)
    driver = handler.build(Settings.read(given))
    assert driver(payload(), 13_000)["reason"] == "ACTED"
    assert events.describe_archive(ArchiveName="a")["EventCount"] == 1
