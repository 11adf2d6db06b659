"""The two examples become what they tell: each line in its order, on the real template."""

import json
from collections import Counter
from typing import Any

from once.genesys.server import RULES
from once.project import EXAMPLE, ROOT
from proof.shared_stack import SharedStack

EXPECTED: list[dict[str, Any]] = json.loads(
    EXAMPLE.with_suffix(".expected.json").read_text("utf-8")
)
# What people do in the call: it rings, is answered, held, taken back, muted, unmuted; a consult
# begins, is answered, ends with the transfer; the customer hangs up.
HUMAN_ACTS = [1, 3, 6, 10, 12, 13, 14, 18, 20, 27]


def test_story_ends_as_it_tells_and_each_event_acts_once(local: SharedStack) -> None:
    script = json.loads(EXAMPLE.with_suffix(".destination.json").read_text("utf-8"))
    lines = EXAMPLE.read_text("utf-8").splitlines()
    with local.variant() as variant:
        earlier = len(variant.requests(""))
        for rule in script["rules"] if isinstance(script, dict) else script:
            variant.ask_destination("PUT", RULES, rule)
        records = variant.settle(*lines, steps=True, seconds=240)
        assert [record.outcome for record in records] == [e["outcome"] for e in EXPECTED]
        first: dict[str, str] = {}
        for record, expected in zip(records, EXPECTED, strict=True):
            settled_by = first.setdefault(expected["happening"], record.first_message_id)
            if record.outcome == "DUPLICATE":
                assert record.met == settled_by
        processed = [record for record in records if record.outcome == "PROCESSED"]
        keys = Counter(record.idempotency_key for record in processed)
        assert set(keys.values()) == {1}
        requests = variant.requests("")[earlier:]
        acted = Counter(r["facts"]["idempotencyKey"] for r in requests if r["acted"])
        # A destination that acted is asked again only if its response did not arrive in time.
        unanswered = Counter(r.idempotency_key for r in variant.records() if r.outcome == "RETRY")
        for key in keys:
            assert 1 <= acted[key] <= 1 + unanswered[key]


def test_call_sends_one_request_for_each_human_act(local: SharedStack) -> None:
    lines = EXAMPLE.with_name("call.jsonl").read_text("utf-8").splitlines()
    routes = (ROOT / "functions" / "enrichment" / "calls.toml").read_text("utf-8")
    with local.variant(files={"routes.toml": routes}) as variant:
        records = variant.settle(*lines, steps=True, seconds=240)
    acted = [number for number, r in enumerate(records, 1) if r.outcome == "PROCESSED"]
    assert acted == HUMAN_ACTS
    assert {record.reason for record in records if record.outcome == "DUPLICATE"} == {
        "UNCHANGED",
        "SAME_KEY",
    }
