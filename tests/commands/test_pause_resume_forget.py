"""Commands that change a row: pause, resume and forget."""

import pytest
from once_data_action.breaker import Row, Times, Wait, judge

from tests.commands.conftest import once
from tests.commands.fakes import KEY, NOW_MS, PK, SK, USER, FakeStack

HOUR_MS = 3_600_000
LATEST = "latest/user.presence/PURECLOUD"


def read_breaker(stack: FakeStack) -> Row | None:
    item = stack.dynamodb.get_item(
        TableName="claims", Key={"pk": {"S": "pace"}, "sk": {"S": "breaker"}}
    ).get("Item")
    return Row.of(item)


def test_pause_stops_requests_with_its_reason_and_operator(stack: FakeStack) -> None:
    answer = once("pause", "--for", "2h", "--reason", "repair", "--yes", "--json")
    row = read_breaker(stack)
    assert answer.json["pause"]["untilMs"] == NOW_MS + 2 * HOUR_MS
    assert row is not None
    assert (row.held, row.held_by) == ("repair", "assumed-role/operator/ada")
    assert judge(row, NOW_MS + HOUR_MS, Times.of()) == Wait("PAUSED")


def test_pause_names_the_pause_that_it_replaces(stack: FakeStack) -> None:
    pause = {"held": "the CRM is down", "held_by": "bob", "held_at": NOW_MS - 1}
    stack.pause(**pause, since=NOW_MS - 1, not_before=NOW_MS + HOUR_MS)
    answer = once("pause", "--yes", "--json").json
    assert (answer["replaced"]["by"], answer["pause"]["by"]) == ("bob", "assumed-role/operator/ada")
    assert "assumed-role/operator/ada" in once("pause", "--yes").out


@pytest.mark.parametrize("lasting", ["", "5", "25h", "-1h"])
def test_pause_refuses_a_time_it_cannot_keep(stack: FakeStack, lasting: str) -> None:
    assert once("pause", "--for", lasting, "--yes").code == 2
    assert read_breaker(stack) is None


def test_pause_without_a_yes_changes_nothing(stack: FakeStack) -> None:
    assert once("pause", says="n\n").code == 1
    assert read_breaker(stack) is None


def test_resume_ends_a_pause_and_says_how_many_events_wait(stack: FakeStack) -> None:
    once("pause", "--for", "2h", "--yes")
    stack.sqs.delayed = 40
    answer = once("resume", "--yes", "--json").json
    assert read_breaker(stack) is None
    assert answer["events"] == 40
    assert answer["ended"]["reason"] == "no reason was given"


def test_resume_in_an_outage_keeps_the_time_of_the_first_failure(stack: FakeStack) -> None:
    stack.fail("a", "b", since=NOW_MS - HOUR_MS, open_until=NOW_MS + 60_000)
    once("resume", "--yes")
    row = read_breaker(stack)
    assert row is not None
    assert (row.since_ms, row.failed, row.until_ms) == (NOW_MS - HOUR_MS, 0, 0)


def test_resume_starts_a_stopped_pipe(stack: FakeStack) -> None:
    stack.pipes.state = "STOPPED"
    assert once("resume", "--yes", "--json").json["pipe"] == "RUNNING"


def test_resume_of_a_healthy_stack_asks_nothing(stack: FakeStack) -> None:
    assert stack
    assert once("resume").code == 0


def test_forget_opens_the_claim_for_any_copy_and_moves_the_newest_time_back(
    stack: FakeStack,
) -> None:
    stack.put_claim(due_at=NOW_MS)
    stack.put_row(PK, LATEST, event_time=NOW_MS, expires_at=NOW_MS, owner="run#x", claim="v2/x")
    answer = once("forget", KEY, "--yes", "--json")
    row = stack.read_row(PK, SK)
    assert answer.json["rewound"] == [LATEST]
    assert (row["status"], row["occurrence"]) == ("FAILED", str(-NOW_MS))
    assert "due_at" not in row, "a copy would be WAITS_ALREADY"
    assert stack.read_row(PK, LATEST)["event_time"] == str(NOW_MS - 600_000)


def test_forget_leaves_a_claim_that_is_held(stack: FakeStack) -> None:
    stack.put_claim("IN_PROGRESS", "RETRY", lease_until=NOW_MS + 5_000)
    assert once("forget", KEY, "--yes").code == 1
    assert stack.read_row(PK, SK)["status"] == "IN_PROGRESS"


@pytest.mark.parametrize("key", [USER, f"{PK}/v2/user.presence/other"])
def test_forget_refuses_what_is_no_claim(stack: FakeStack, key: str) -> None:
    stack.put_claim()
    assert once("forget", key, "--yes").code == 1
