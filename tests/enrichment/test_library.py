"""The identity as a library, and the example of docs/families.md with Powertools' idempotency."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import boto3
import pytest
from moto import mock_aws
from once_enrichment.envelope import UnfitError
from once_enrichment.library import identify

from tests.enrichment.examples import (
    CONVERSATION,
    agent,
    conversation,
    disguised,
    presence,
    snapshot,
)
from tests.enrichment.sending import element

DOCS = Path(__file__).parents[2] / "docs" / "families.md"
TABLE = "acted"


@pytest.mark.parametrize("event", [conversation("acw"), presence(), snapshot(agent())])
def test_identity_is_that_of_the_enrichment(event: dict[str, Any]) -> None:
    one, found = element(event), identify(event)
    assert found.key == one["keyHash"]
    assert (found.family, found.occurred_at_ms) == (one["family"], one["occurredAtMs"])
    assert {"type": found.subject_type, "id": found.subject_id} == one["subject"]
    assert (found.order, found.window_ms) == (one["policy"]["order"], one["policy"]["windowMs"])
    assert found.note is None


def test_missing_field_is_said() -> None:
    broken = identify(conversation("acw", sessionId=None))
    assert broken.subject_id == CONVERSATION
    assert "sessionId" in str(broken.note)


def test_time_of_receipt_dates_an_event_that_tells_none() -> None:
    event = {"detail": {"conversation_id": "c", "status": "ended"}}
    with pytest.raises(UnfitError, match="tells a time"):
        identify(event)
    assert identify(event, 1_741_770_000_000).occurred_at_ms == 1_741_770_000_000


def test_facts_and_series_tell_an_unchanged_state_to_a_store_that_keeps_more_than_keys() -> None:
    paths = ["participants.*.calls.*.state"]
    one, recorded = snapshot(agent()), snapshot(agent(recordingState="active"))
    assert identify(one).key != identify(recorded).key
    assert identify(one).facts != identify(recorded).facts
    assert identify(one, facts=paths).facts == identify(recorded, facts=paths).facts
    assert identify(one).series == identify(recorded).series != identify(presence()).series
    assert identify(conversation("acw")).facts is identify(conversation("acw")).series is None
    assert (identify(presence()).order, identify(presence(), facts=["source"]).order) == (
        "latest",
        "changes",
    )


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """The example's names, as if deployed, and the events that it acted on."""
    monkeypatch.setenv("TABLE", TABLE)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    section = DOCS.read_text("utf-8").partition("## In a function of your own")[2]
    code = section.partition("```python\n")[2].partition("```")[0]
    acted: list[dict[str, Any]] = []
    names: dict[str, Any] = {"__name__": "example", "acted": acted}
    with mock_aws():
        boto3.client("dynamodb").create_table(
            TableName=TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
        exec(code.replace("...  #", "acted.append(event)  #"), names)  # noqa: S102 - documents of ours
        yield names


def test_example_acts_once_on_copies_and_each_time_a_state_returns(example: dict[str, Any]) -> None:
    def send(event: dict[str, Any]) -> int:
        context = SimpleNamespace(
            function_name="f", aws_request_id="r", get_remaining_time_in_millis=lambda: 30_000
        )
        example["handler"](event, context)
        return len(example["acted"])

    event = conversation("acw")
    assert [send(event), send(disguised(event)), send(conversation("wrapup"))] == [1, 1, 2]
    states = [snapshot(agent(muted=muted)) for muted in (False, True, False)]
    for minute, state in enumerate(states):
        state["detail"]["timestamp"] = f"2025-03-12T09:0{minute}:01.300Z"
    assert [send(state) for state in (*states, states[2])] == [3, 4, 5, 5]
