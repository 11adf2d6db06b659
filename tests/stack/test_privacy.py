"""No log, metric or claim of a stack holds words of a caller, a secret or the destination's."""

import base64
import json

from once.genesys.server import CLIENT_ID, CLIENT_SECRET, SIGNING_SECRET
from proof.events import customer_start
from proof.shared_stack import SharedStack, Variant
from tests.stack.sample_events import new_id

PHONE, THEIRS = "4915550100742", "said-by-the-destination"
CREDENTIALS = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()


def read_places(variant: Variant, shared: SharedStack) -> dict[str, str]:
    """Returns everything that is written of events, but for the queues."""
    logs = variant.client("logs")
    groups = [
        group["logGroupName"]
        for page in logs.get_paginator("describe_log_groups").paginate()
        for group in page["logGroups"]
    ]
    pages = logs.get_paginator("filter_log_events")
    places = {
        group: "\n".join(
            event["message"]
            for page in pages.paginate(logGroupName=group)
            for event in page["events"]
        )
        for group in groups
    }
    places["claims"] = json.dumps(variant.rows(""))
    metrics = shared.client("cloudwatch").get_paginator("list_metrics").paginate()
    places["metrics"] = json.dumps([page["Metrics"] for page in metrics], default=str)
    commands = (["status"], ["parked", "list"], ["explain", "--since", "1h"])
    for command in commands:
        places[" ".join(command)] = variant.once(*command).out
    return places


def test_nothing_but_ids_and_times_is_written(local: SharedStack) -> None:
    parked, lost, acted = new_id(), new_id(), new_id()
    with local.variant() as variant:
        error = {"status": 422, "body": {"message": THEIRS, "code": THEIRS}}
        variant.script(parked, error)
        variant.script(lost, {"status": 500, "body": THEIRS}, then=200)
        variant.settle(
            *(
                customer_start(name, ani=f"tel:+{PHONE}", note=PHONE)
                for name in (parked, lost, acted)
            ),
            f"no JSON but {PHONE}",
        )
        places = read_places(variant, local)
    assert parked in places["claims"]
    assert acted in places[variant.outputs["OutcomeLogGroupName"]]
    for marker in (PHONE, THEIRS, CLIENT_SECRET, SIGNING_SECRET, CREDENTIALS):
        assert [place for place, text in places.items() if marker in text] == [], marker
