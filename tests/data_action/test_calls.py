"""Requests over real HTTP are complete, and each response has its documented result."""

import json
import re
import time
from dataclasses import replace
from typing import Any

import pytest

from once.genesys.server import SIGNING_SECRET
from tests.data_action.support import BUCKET, Bench, aws_error, event, read_error


def test_an_event_acts_and_the_answer_is_small(either: Bench) -> None:
    answer = either.call()
    assert answer.pop("durationMs") >= 0
    assert answer == {"version": "2", "result": "ACTED", "requests": 1, "status": 200}


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_every_success_is_an_act_and_keeps_the_connection(either: Bench, status: int) -> None:
    either.server.script.add({"then": status})
    assert [either.call(number)["status"] for number in range(2)] == [status, status]
    assert either.server.connections == 1


def test_a_repeated_call_has_one_effect(either: Bench) -> None:
    either.call()
    either.call()
    (record,) = either.server.keys.values()
    assert (record.calls, record.effects) == (2, 1)


def test_the_key_of_the_request_is_sent_unchanged(either: Bench) -> None:
    key = f"{'0a' * 32}.1777888800123"
    either.call(idempotencyKey=key)
    entry = either.server.log[-1]
    assert entry.headers["idempotency-key"] == key
    assert entry.body["idempotencyKey"] == key
    assert entry.body["occurredAtMs"] == 1_777_888_800_123


def test_the_row_of_an_event_is_found_from_the_destinations_log(either: Bench) -> None:
    either.call(7)
    assert either.server.log[-1].headers["x-once-execution"] == "0f0f:1#m7"


def test_a_destination_sees_what_is_sent_what_is_wanted_and_by_whom(either: Bench) -> None:
    either.call()
    sent = either.server.log[-1].headers
    names = ("content-type", "accept", "user-agent")
    assert [sent[name] for name in names] == ["application/json"] * 2 + ["genesys-once"]


def test_no_owner_can_break_the_headers(either: Bench) -> None:
    either.call(execution="ü\r\nX-Evil: 1" + "x" * 1_000)
    sent = either.server.log[-1].headers
    assert sent["x-once-execution"].startswith("???X-Evil:?1xxx")
    assert len(sent["x-once-execution"]) == 256
    assert "x-evil" not in sent


def test_data_action_gets_the_common_inputs(genesys_action: Bench) -> None:
    genesys_action.call(3)
    (entry,) = genesys_action.server.received("execute")
    assert entry.facts["action"] == "custom_-_1"
    assert entry.body == {
        "idempotencyKey": event(3)["idempotencyKey"],
        "occurredAtMs": 1_777_888_800_123,
        "occurredAt": "2026-05-04T10:00:00.123Z",
        "family": "conversation.user.end",
        "state": "end",
        "subjectType": "conversation",
        "subjectId": "c3",
        "conversationId": "c3",
        "participantId": "p",
        "queueId": "q",
    }


def test_a_webhook_gets_the_event_under_its_own_names(webhook_action: Bench) -> None:
    webhook_action.call()
    sent = webhook_action.server.log[-1].body
    one = event()
    for name in ("family", "topic", "subject", "state", "occurredAt", "ids", "key", "trace"):
        assert sent[name] == one[name]
    assert sent["body"] == one["body"]
    assert sent["version"] == "1"
    assert (
        not {"messageId", "subjectKey", "receives", "policy", "kind", "publishedAt"} & sent.keys()
    )


def test_webhook_gets_what_the_publisher_sent_beside_the_body(webhook_action: Bench) -> None:
    webhook_action.call(event={**event(), "metadata": {"action": "Disassociated"}})
    assert webhook_action.server.log[-1].body["metadata"] == {"action": "Disassociated"}


def test_a_body_that_overflowed_is_fetched(webhook_action: Bench) -> None:
    webhook_action.bucket.objects["events/1"] = json.dumps({"large": "x" * 300_000}).encode()
    webhook_action.call(event=overflowed())
    assert len(webhook_action.server.log[-1].body["body"]["large"]) == 300_000


def test_data_action_gets_the_inputs_of_its_route(genesys_action: Bench) -> None:
    route = {"name": "r", "action": "a", "inputs": {"k": "idempotencyKey", "q": "ids.queueId"}}
    genesys_action.call(event={**event(), "route": route})
    (entry,) = genesys_action.server.received("execute")
    assert entry.facts["action"] == "a"
    assert entry.body == {"k": event()["idempotencyKey"], "q": "q"}


def test_body_is_fetched_only_for_inputs_that_need_it(genesys_action: Bench) -> None:
    genesys_action.bucket.objects["events/1"] = b'{"disconnectType": "PEER"}'
    genesys_action.call(event=overflowed())
    assert genesys_action.bucket.reads == 0

    route = {"name": "r", "action": "a", "inputs": {"why": "body.disconnectType"}}
    genesys_action.call(event={**overflowed(), "route": route})
    assert genesys_action.server.log[-1].body == {"why": "PEER"}


def test_event_without_a_route_is_a_configuration_error(genesys_action: Bench) -> None:
    unrouted = event()
    del unrouted["route"]
    assert genesys_action.fails(event=unrouted)[0] == "NotConfigured"
    assert genesys_action.server.log == []


@pytest.mark.parametrize(
    ("prepare", "wanted"),
    [
        ({}, "Rejected"),
        ({"text": b"not JSON"}, "Rejected"),
        *(
            ({"error": aws_error(code)}, "NotConfigured")
            for code in ("AccessDenied", "NoSuchBucket", "PermanentRedirect", "InvalidAccessKeyId")
        ),
        ({"error": aws_error("SlowDown", 503)}, "TooLate"),
    ],
)
def test_a_body_that_cannot_be_had_is_not_called_for(
    webhook_action: Bench, prepare: dict[str, object], wanted: str
) -> None:
    if "text" in prepare:
        webhook_action.bucket.objects["events/1"] = prepare["text"]
    webhook_action.bucket.error = prepare.get("error")
    assert webhook_action.fails(event=overflowed())[0] == wanted
    assert webhook_action.server.log == []


def test_a_body_is_read_from_the_stacks_own_bucket_only(webhook_action: Bench) -> None:
    elsewhere = overflowed() | {"bodyRef": {"bucket": "another", "key": "events/1"}}
    assert webhook_action.fails(event=elsewhere)[0] == "NotConfigured"
    assert webhook_action.bucket.reads == 0


def overflowed() -> dict[str, object]:
    one = event()
    del one["body"]
    return one | {"bodyRef": {"bucket": BUCKET, "key": "events/1"}}


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        (301, "NotConfigured"),
        (400, "Rejected"),
        (402, "Rejected"),
        (403, "NotAuthorised"),
        (404, "NotConfigured"),
        (405, "NotConfigured"),
        (408, "Transient"),
        (409, "Transient"),
        (410, "NotConfigured"),
        (413, "Rejected"),
        (422, "Rejected"),
        (423, "Transient"),
        (425, "Transient"),
        (429, "RateLimited"),
        (500, "Transient"),
        (502, "Transient"),
        (503, "Transient"),
        (504, "Transient"),
        (599, "Transient"),
    ],
)
def test_each_status_is_one_error(either: Bench, status: int, wanted: str) -> None:
    either.server.script.add({"replies": [status]})
    name, message = either.fails()
    assert (name, message["status"]) == (wanted, status)
    assert ("retryAfterSeconds" in message) == (wanted == "RateLimited")
    assert len(either.server.received("execute") + either.server.received("webhook")) == 1


def test_a_redirect_is_not_followed(webhook_action: Bench) -> None:
    elsewhere = {"Location": f"{webhook_action.server.url}/webhook?moved"}
    webhook_action.server.script.add({"replies": [{"status": 307, "headers": elsewhere}]})
    assert webhook_action.fails()[0] == "NotConfigured"
    assert len(webhook_action.server.log) == 1


def test_an_act_whose_answer_is_lost_is_asked_again_with_the_same_key(either: Bench) -> None:
    either.server.script.add({"replies": ["lose"]})
    assert either.fails()[0] == "Transient"
    either.call()
    (record,) = either.server.keys.values()
    assert (record.calls, record.acts, record.effects) == (2, 2, 1)


def test_a_call_that_began_before_the_deadline_may_outlast_it(either: Bench) -> None:
    either.call(0)  # so that the login does not use the time up
    either.server.script.add({"replies": [{"delayMs": 1_300}]})
    assert either.call(deadlineMs=either.clock() + 1_000)["result"] == "ACTED"


def waited_seconds(message: dict[str, Any]) -> float:
    found = re.search(r"did not answer within ([\d.]+) s", message["sentence"])
    assert found, message
    return float(found[1])


def test_an_answer_is_given_before_lambda_ends_the_function(either: Bench) -> None:
    either.server.script.add({"replies": ["timeout"]})
    name, message = either.fails(remaining_ms=1_400)
    assert name == "Transient"
    assert waited_seconds(message) <= 0.4


def test_login_and_call_share_the_time_of_a_call(genesys_action: Bench) -> None:
    genesys_action.action = replace(genesys_action.action, request_ms=1_500)
    script = genesys_action.server.script
    script.add({"match": {"endpoint": "token"}, "replies": [{"delayMs": 500}]})
    script.add({"match": {"endpoint": "execute"}, "replies": ["timeout"]})
    name, message = genesys_action.fails()
    assert name == "Transient"
    assert waited_seconds(message) <= 1
    assert len(genesys_action.server.received("execute")) == 1


@pytest.mark.parametrize("late", [{"deadlineMs": 1_777_888_800_000}, {"remaining_ms": 1_000}])
def test_after_the_deadline_nothing_is_sent(either: Bench, late: dict[str, int]) -> None:
    assert either.fails(**late)[0] == "TooLate"
    assert either.server.log == []


def test_a_deadline_that_passes_during_the_login_stops_the_call(
    genesys_action: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    _pass_the_deadline_after(1, genesys_action, monkeypatch)
    assert genesys_action.fails()[0] == "TooLate"
    assert genesys_action.server.received("execute") == []


@pytest.mark.parametrize("posts", [1, 2])
def test_a_deadline_that_passes_after_a_refused_token_stops_the_second_post(
    genesys_action: Bench, monkeypatch: pytest.MonkeyPatch, posts: int
) -> None:
    genesys_action.call(1)
    genesys_action.server.expire_tokens()
    _pass_the_deadline_after(posts, genesys_action, monkeypatch)
    name, message = genesys_action.fails(2)
    assert (name, message["requests"]) == ("TooLate", 1)
    assert [entry.status for entry in genesys_action.server.received("execute")] == [200, 401]


def test_a_deadline_that_passes_after_a_refused_signature_stops_the_second_post(
    webhook_action: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook_action.call(1)
    webhook_action.secrets.text = json.dumps({"signingSecret": SIGNING_SECRET[:-4] + "AAA="})
    webhook_action.server.script.add({"replies": [401]})
    _pass_the_deadline_after(1, webhook_action, monkeypatch)
    assert webhook_action.fails(2)[0] == "TooLate"
    assert [entry.status for entry in webhook_action.server.log] == [200, 401]


def _pass_the_deadline_after(posts: int, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    post, left = bench.http.post, iter(range(posts - 1, -1, -1))

    def jump(*args: Any, **kwargs: Any) -> Any:
        reply = post(*args, **kwargs)
        bench.clock.ahead_ms += 60_000 if next(left) == 0 else 0
        return reply

    monkeypatch.setattr(bench.http, "post", jump)


def test_connections_are_kept_and_no_call_waits_for_what_one_may_still_say(either: Bench) -> None:
    started = time.perf_counter()
    for number in range(5):
        either.call(number)
    assert either.server.connections == 1
    assert time.perf_counter() - started < 3.5


def test_a_connection_that_was_idle_for_long_is_not_trusted(either: Bench) -> None:
    either.call()
    either.clock.ahead_ms += 31_000
    either.call()
    assert either.server.connections == 2


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        {},
        {"version": "1"},
        {"event": {}},
        {"event": {"body": {}}},
        {"event": None},
        {"idempotencyKey": "short"},
        {"idempotencyKey": f"{'a' * 64}\r\nX-Evil: 1"},
        {"deadlineMs": "soon"},
        {"deadlineMs": True},
        {"requestsAllowed": "two"},
        {"retry": None},
        {"pace": {"since": "now"}},
        {"pace": 5},
    ],
)
def test_a_request_of_another_form_is_a_fault_of_the_set_up(either: Bench, broken: object) -> None:
    if isinstance(broken, dict) and broken:
        name, message = either.fails(**broken)
    else:
        with pytest.raises(Exception, match="contract") as raised:
            either.action(broken, 20_000)
        name, message = type(raised.value).__name__, read_error(raised.value)
    assert name == "NotConfigured"
    assert "same release" in message["sentence"]
    assert either.server.log == []


def test_a_whole_number_may_be_written_as_a_float(either: Bench) -> None:
    assert either.call(deadlineMs=float(either.clock() + 5_000))["result"] == "ACTED"
