"""One event, one request: what the state machine hears, and what is noted for other events."""

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from once_data_action import breaker, errors
from once_data_action.breaker import Limiter, Row
from once_data_action.errors import ActionError

from tests.action.support import NOW, TABLE, Site, event, payload

KEY = event()["keyHash"]
WAIT = {"result": "WAIT", "tries": 0, "failedAtMs": 0, "deaths": 0, "requests": 0}


def put(site: Site, request: dict[str, Any]) -> None:
    """Makes another event's write on the row."""
    site.table.update_item(**request)
    site.table.requests.clear()


def fail_others(site: Site, events: int = 20, since_ms: int = NOW - 12_000) -> None:
    for number in range(events):
        key = f"{number:016x}"
        put(site, breaker.note_failure(TABLE, since_ms, key, since_ms))


def test_success_is_reported_with_its_request(site: Site) -> None:
    assert site.act() == {
        "result": "ACTED",
        "reason": "ACTED",
        "requests": 1,
        "status": 200,
        "durationMs": 200,
        "ageMs": NOW + 200 - 1_777_888_800_123,
    }
    assert site.target.sent == [KEY]


def test_healthy_destination_costs_one_read_a_second(site: Site) -> None:
    for number in range(11):
        site.act(number)
    assert site.table.requests == ["get_item"] * 3


# What a target raises: its reason, and what becomes of the row in which three other events failed.
ERRORS = {
    "Failed": ("CALL_FAILED", "counts"),
    "RateLimited": ("RATE_LIMITED", "keeps"),
    "NotAuthorised": ("SETUP_FAULT", "keeps"),
    "NotConfigured": ("SETUP_FAULT", "keeps"),
    "Rejected": ("REJECTED", "clears"),
    "Uncertain": ("UNCERTAIN", "clears"),
}


@pytest.mark.parametrize("kind", ActionError.__subclasses__())
def test_error_of_a_target_has_its_reason_and_decides_about_the_breaker(
    site: Site, kind: type[ActionError]
) -> None:
    fail_others(site, 3, NOW - 10)
    site.target.told = [kind("no", status=499, repeatable=False)]
    name, facts = site.fails()
    row = site.table.row()
    effect = "clears" if row is None else "counts" if row.failed > 3 else "keeps"
    assert (facts["reason"], effect) == ERRORS[name]
    assert (facts["requests"], facts["durationMs"], facts["status"]) == (1, 200, 499)
    assert facts["tries"] == (effect == "counts")
    assert facts["failedAtMs"] == (site.clock() if facts["tries"] else 0)
    assert 1 <= facts["retryInSeconds"] <= 900


def test_request_that_was_not_sent_is_not_repeated_immediately(site: Site) -> None:
    site.target.told = [errors.Failed("no connection", is_sent=False)]
    name, facts = site.fails()
    assert (name, facts["requests"], "status" in facts) == ("Failed", 0, False)


def test_cause_is_cut_and_holds_printable_ascii_alone() -> None:
    assert errors.plain("~ \x7f\x1f\n" + "x" * 400) == "~ ???" + "x" * 295


def test_second_request_follows_a_first_failure_and_no_third(site: Site) -> None:
    site.target.told = [errors.Failed("no"), errors.Failed("no")]
    assert site.fails()[0] == "Transient"
    name, facts = site.fails(retry=1)
    assert (name, facts["requests"], facts["tries"]) == ("Failed", 2, 1)
    assert site.act(retry=1)["requests"] == 2
    assert site.table.row() is None, "a success after a failure clears the row"


def test_no_second_request_if_the_number_of_requests_is_limited(site: Site) -> None:
    site.limit(300)
    site.target.told = [errors.Failed("no")]
    assert site.fails()[0] == "Failed"


def test_no_second_request_if_twenty_events_failed(site: Site) -> None:
    fail_others(site, 19, since_ms=NOW - 100)
    site.target.told = [errors.Failed("no")]
    assert site.fails()[0] == "Failed"
    site.target.told = [errors.Failed("no")]
    assert site.fails(2)[0] == "Failed", "if its own note is refused as well"


# The tries of an event before a failure, if a request has succeeded since its last one, and both
# afterwards.
@pytest.mark.parametrize(
    ("tries", "succeeded", "reason", "count"),
    [(18, True, "CALL_FAILED", 19), (19, True, "GAVE_UP", 20), (19, False, "CALL_FAILED", 19)],
)
def test_event_is_given_up_by_its_twentieth_try(
    site: Site, tries: int, succeeded: bool, reason: str, count: int
) -> None:
    put(site, breaker.note_failure(TABLE, NOW - 90_000, None, NOW))
    site.target.told = [errors.Failed("no", status=500)]
    failed_ms = NOW - 120_000 if succeeded else NOW - 60_000
    _, facts = site.fails(tries=tries, failedAtMs=failed_ms, retry=1)
    assert (facts["reason"], facts["tries"], facts["status"]) == (reason, count, 500)


def test_pause_is_returned_with_who_and_why_within_five_seconds(site: Site) -> None:
    site.act()
    put(site, breaker.pause(TABLE, "the CRM is beïng repaired", "ada", NOW + 60_000, NOW))
    site.clock.pass_seconds(1)
    answer = site.act(2)
    assert answer.items() >= (WAIT | {"reason": "PAUSED"}).items()
    assert answer["cause"] == "paused by ada: the CRM is be?ng repaired"
    assert answer["retryInSeconds"] >= 58
    assert len(site.target.sent) == 1


def test_breaker_opens_returns_and_lets_one_probe_end_it(site: Site) -> None:
    fail_others(site)
    answer = site.act()
    assert answer.items() >= (WAIT | {"reason": "BREAKER_OPEN", "breakerSeconds": 12}).items()
    assert site.table.row() == Row(NOW - 12_000, 20, open_until_ms=NOW + 20_000)
    assert site.act(2)["reason"] == "BREAKER_OPEN"
    site.clock.pass_seconds(20)
    assert site.act(3)["reason"] == "ACTED"
    assert site.table.row() is None


def test_probe_that_fails_leaves_the_breaker_open(site: Site) -> None:
    put(site, breaker.note_failure(TABLE, NOW - 600_000, "0" * 16, NOW))
    put(site, breaker.open_(TABLE, Row(NOW - 600_000), NOW - 1, NOW))
    site.target.told = [errors.Failed("no")]
    name, facts = site.fails()
    assert (name, facts["breakerSeconds"]) == ("Failed", 600)
    assert site.act(2)["reason"] == "BREAKER_OPEN"


def refuse(*_: object) -> int:
    raise errors.NotConfigured("bodyPath names no body")


def wait_too_long(*_: object) -> int:
    raise errors.NotNow("no time was left")


@pytest.mark.parametrize("ends", [refuse, wait_too_long])
def test_probe_that_sends_nothing_leaves_it_to_the_next_event(
    site: Site, monkeypatch: pytest.MonkeyPatch, ends: Callable[..., int]
) -> None:
    fail_others(site, 3, NOW - 600_000)
    put(site, breaker.open_(TABLE, Row(NOW - 600_000), NOW - 1, NOW))
    with monkeypatch.context() as patch, contextlib.suppress(errors.Verdict):
        patch.setattr(site.target, "act", ends)
        assert site.act()["reason"] == "TOO_LATE"
    assert site.act(2)["reason"] == "ACTED"


def test_429_stops_all_requests_for_its_time_and_is_no_try(site: Site) -> None:
    site.target.told = [errors.RateLimited("no", status=429, retry_after_seconds=45)]
    _, facts = site.fails()
    assert facts["retryInSeconds"] >= 45
    assert site.act(2).items() >= (WAIT | {"reason": "RATE_LIMITED"}).items()
    site.clock.pass_seconds(45)
    assert site.act(3)["reason"] == "ACTED"
    assert site.table.row() is None


def test_request_waits_for_a_near_token_and_else_on_the_queue(site: Site) -> None:
    site.limit(60)
    limiter = Limiter(60)
    site.clock.ms = limiter.slot_ms * limiter.slot_at(NOW)
    site.target.takes_seconds = 0
    for number in range(limiter.quota):
        assert site.act(number)["reason"] == "ACTED"
    assert site.act(7).items() >= (WAIT | {"reason": "LIMITED"}).items()
    site.clock.ms += limiter.slot_ms - 500
    assert site.act(8)["reason"] == "ACTED"
    assert limiter.slot_at(site.clock()) == limiter.slot_at(NOW) + 1, "it slept for a token"


def test_token_that_is_too_old_sends_nothing(site: Site) -> None:
    site.limit(300)
    site.target.waits_seconds = 3.8
    assert site.act()["reason"] == "TOO_LATE"
    assert site.target.sent == []


@pytest.mark.parametrize(("seconds", "notes"), [(1.0, 0), (1.001, 1)])
def test_slow_success_is_noted_without_a_row(site: Site, seconds: float, notes: int) -> None:
    site.target.takes_seconds = seconds
    site.act()
    assert site.table.requests.count("delete_item") == notes


def test_table_that_does_not_respond_costs_no_event_but_a_limit_holds(site: Site) -> None:
    site.table.is_broken = True
    assert site.act()["reason"] == "ACTED"
    site.target.told = [errors.Failed("no")]
    name, facts = site.fails(tries=3, failedAtMs=NOW - 60_000)
    assert (name, facts["tries"]) == ("Failed", 3), "if nobody knows, it is no try"
    site.limit(300)
    assert site.act(2)["reason"] == "LIMITED"
    assert len(site.target.sent) == 2


def test_refusal_of_all_events_is_remembered_and_noted_for_each(site: Site) -> None:
    site.target.told = [errors.NotAuthorised("no login", status=401, for_all=True)]
    site.fails()
    _, facts = site.fails(2)
    assert (facts["reason"], facts["requests"], facts["tries"]) == ("SETUP_FAULT", 0, 0)
    assert facts["status"] == 401
    assert site.table.row() == Row(NOW, failed=2)
    site.clock.pass_seconds(30)
    assert site.act(3)["reason"] == "ACTED"
    assert len(site.target.sent) == 2


def test_probe_asks_a_destination_that_refused_all_events(site: Site) -> None:
    site.target.told = [errors.NotAuthorised("no login", status=401, for_all=True)]
    site.fails()
    put(site, breaker.open_(TABLE, Row(NOW), NOW, NOW))
    assert site.act(2)["reason"] == "ACTED"


def test_second_request_that_may_not_be_sent_counts_by_what_others_met(site: Site) -> None:
    site.limit(10)
    limiter = Limiter(10)
    site.clock.ms = limiter.slot_ms * limiter.slot_at(NOW)
    site.act()
    answer = site.act(2, retry=1, tries=3, failedAtMs=NOW - 60_000)
    assert answer["reason"] == "LIMITED"
    assert (answer["tries"], answer["requests"]) == (4, 1), "no row: a request succeeded"
    put(site, breaker.note_failure(TABLE, NOW - 90_000, None, NOW))
    site.clock.pass_seconds(1)
    answer = site.act(2, retry=1, tries=3, failedAtMs=NOW - 60_000)
    assert (answer["reason"], answer["tries"]) == ("LIMITED", 3)


def test_success_of_a_second_request_clears_a_row_that_its_environment_has_not_read(
    site: Site,
) -> None:
    site.act(1)
    put(site, breaker.note_failure(TABLE, NOW, KEY, NOW))
    site.act(2, retry=1)
    assert site.table.row() is None


def test_row_that_changes_all_the_time_is_read_three_times(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_others(site)
    monkeypatch.setattr(breaker, "open_", lambda *_: breaker.end_pause(TABLE))
    monkeypatch.setattr(site.table, "update_item", site.table.delete_item)
    assert site.act()["reason"] == "BREAKER_OPEN"
    assert site.table.requests.count("get_item") == 3


def canary(**body: int) -> dict[str, Any]:
    return event(body=json.dumps(body)) | {"canary": True}


def test_canary_is_answered_before_the_destination(site: Site) -> None:
    fail_others(site)
    assert site.act(event=canary())["reason"] == "OBSERVED"
    assert site.act(event=canary(refuseUntilMs=NOW, failUntilMs=NOW))["reason"] == "OBSERVED"
    assert site.fails(event=canary(refuseUntilMs=NOW + 1))[0] == "Rejected"
    name, facts = site.fails(event=canary(failUntilMs=NOW + 1))
    assert (name, facts["tries"], facts["requests"]) == ("Failed", 0, 0)
    assert (site.target.sent, site.table.requests) == ([], [])


def test_function_without_time_for_a_request_sends_nothing(site: Site) -> None:
    answer = site.driver(payload(), 9_000)
    assert answer.items() >= (WAIT | {"reason": "TOO_LATE"}).items()
    assert site.driver(payload(), 9_001)["reason"] == "ACTED"


@pytest.mark.parametrize(("connecting", "reason"), [(3.099, "ACTED"), (3.1, "TOO_LATE")])
def test_request_begins_within_4_seconds_of_reading_the_row(
    site: Site, connecting: float, reason: str
) -> None:
    site.act(1)
    site.clock.pass_seconds(0.7)
    site.target.waits_seconds = connecting
    assert site.act(2)["reason"] == reason
    assert site.table.requests == ["get_item"], "the row of the first event is good for a second"
