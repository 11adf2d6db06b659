"""Conditions that people put on the events they act on, written as routes and tried."""

from typing import Any

import pytest
from once_enrichment.routes_file import read

from tests.enrichment.examples import conversation
from tests.enrichment.sending import element

SALES, SERVICE, OTHER = (f"5e11ab1e-0000-4b0e-8000-00000000000{n}" for n in range(3))
REST = '[[routes]]\nfamily = "*"\naction = "none"\n'


def is_wanted(when: str, event: dict[str, Any]) -> bool:
    text = f'[[routes]]\nname = "wanted"\nfamily = "conversation.*"\n{when}\naction = "a"\n{REST}'
    name: str = element(event, read("routes.toml", text))["route"]["name"]
    return name == "wanted"


@pytest.mark.parametrize(
    ("when", "suffix", "wanted", "unwanted"),
    [
        pytest.param(
            'when.body.mediaType = ["VOICE"]',
            "customer.end",
            {"mediaType": "VOICE"},
            {"mediaType": "EMAIL"},
            id="media type",
        ),
        pytest.param(
            'when.body.mediaType = [{ anything-but = "CALLBACK" }]',
            "acd.start",
            {"mediaType": "VOICE"},
            {"mediaType": "CALLBACK"},
            id="any media type but one",
        ),
        pytest.param(
            f'when.body.queueId = ["{SALES}", "{SERVICE}"]',
            "acd.end",
            {"queueId": SERVICE},
            {"queueId": OTHER},
            id="queue in a list",
        ),
        pytest.param(
            f'when.ids.queueId = [{{ anything-but = ["{OTHER}"] }}]',
            "acd.end",
            {"queueId": SERVICE},
            {"queueId": OTHER},
            id="any queue but some",
        ),
        pytest.param(
            f'when.body.wrapupCode = ["{SALES}"]',
            "wrapup",
            {"wrapupCode": SALES},
            {"wrapupCode": OTHER},
            id="wrap-up code",
        ),
        pytest.param(
            'when.body.disconnectType = ["PEER", "CLIENT"]',
            "customer.end",
            {"disconnectType": "PEER"},
            {"disconnectType": "TRANSFER"},
            id="disconnect type",
        ),
        pytest.param(
            'when.body.direction = ["INBOUND"]',
            "customer.end",
            {"direction": "INBOUND"},
            {"direction": "OUTBOUND"},
            id="direction",
        ),
        pytest.param(
            'when.body.ani = [{ prefix = "tel:+447" }]',
            "customer.end",
            {"ani": "tel:+447700900123"},
            {"ani": "tel:+441632960123"},
            id="beginning of a number",
        ),
        pytest.param(
            "when.body.attributes.orderNumber = [{ exists = true }]",
            "attributes",
            {"attributes": {"orderNumber": "1"}},
            {"attributes": {"language": "de"}},
            id="attribute that is there",
        ),
        pytest.param(
            """
            when.body.acdOutcome = ["ABANDON"]
            when.body.connectedDurationMs = [{ numeric = [">=", 5000] }]
            when.body.flowType = [{ suffix = "QUEUECALL" }]
            when.body.disconnectType = [{ anything-but = ["TRANSFER", "CONFERENCE"] }]
            """,
            "acd.end",
            {
                "acdOutcome": "ABANDON",
                "connectedDurationMs": 7000,
                "flowType": "INQUEUECALL",
                "disconnectType": "PEER",
            },
            {
                "acdOutcome": "ABANDON",
                "connectedDurationMs": 7000,
                "flowType": "INQUEUECALL",
                "disconnectType": "TRANSFER",
            },
            id="all of several",
        ),
    ],
)
def test_condition_takes_the_events_that_it_means(
    when: str, suffix: str, wanted: dict[str, Any], unwanted: dict[str, Any]
) -> None:
    assert is_wanted(when, conversation(suffix, **wanted))
    assert not is_wanted(when, conversation(suffix, **unwanted))
