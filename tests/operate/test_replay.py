"""`once replay`: what it says before, that only our rule gets the events, and how it can end."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from once.operate import log, replay
from once.operate.stack import Stack
from proof.deployed import deployed
from proof.events import customer_start
from tests.operate.conftest import Answer, once, up
from tests.operate.support import explained, keys_asked, until

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
BUS = "arn:aws:events:eu-west-1:123456789012:event-bus/default"
RULE = "arn:aws:events:eu-west-1:123456789012:rule/once-events"
ARCHIVE = "arn:aws:events:eu-west-1:123456789012:archive/once-EventArchive-A1"
SLICE = ("--from", "2026-05-19T08:00", "--to", "2026-05-19T20:00")


class Events:
    """EventBridge with an archive of ten days, and a replay that goes through these states."""

    def __init__(self, *states: dict[str, Any], rule: str = "ENABLED") -> None:
        self.states = [*states] or [{"State": "COMPLETED"}]
        self.rule = rule
        self.started: list[dict[str, Any]] = []
        self.cancelled: list[str] = []

    def describe_archive(self, **asked: str) -> dict[str, Any]:
        assert asked == {"ArchiveName": ARCHIVE.rpartition("/")[2]}
        return {
            "ArchiveArn": ARCHIVE,
            "EventSourceArn": BUS,
            "EventCount": 40_000_000,
            "SizeBytes": 52_400_000_000,
            "RetentionDays": 14,
            "CreationTime": NOW - timedelta(days=10),
        }

    def describe_rule(self, **asked: str) -> dict[str, Any]:
        assert asked == {"Name": "once-events", "EventBusName": "default"}
        return {"Arn": RULE, "State": self.rule}

    def start_replay(self, **asked: Any) -> None:
        self.started.append(asked)

    def describe_replay(self, **asked: str) -> dict[str, Any]:
        assert asked == {"ReplayName": self.started[0]["ReplayName"]}
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        if state["State"] == "Ctrl-C":
            raise KeyboardInterrupt
        return state

    def cancel_replay(self, **asked: str) -> None:
        self.cancelled.append(asked["ReplayName"])


@pytest.fixture
def run_replay(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`once replay` on a deployed stack whose EventBridge is given."""
    monkeypatch.setattr(log, "now_ms", lambda: round(NOW.timestamp() * 1000))
    monkeypatch.setattr(replay, "_POLL_SECONDS", 0)

    def type_(events: Events, *arguments: str, says: str = "y\n", **given: Any) -> Answer:
        stack = Stack(None, "once")
        stack._clients = {"events": events}
        outputs = {
            "EventRuleName": "once-events",
            "EventBusName": "default",
            "StateMachineArn": "arn:aws:states:eu-west-1:123456789012:stateMachine:once",
            "EventArchiveArn": ARCHIVE,
        }
        stack.outputs = {k: v for k, v in outputs.items() if v != given.get("without")}
        stack.parameters = {"ClaimDays": str(given.get("claim_days", 30))}
        monkeypatch.setattr(Stack, "find", lambda *_: stack)
        return once("replay", *arguments, says=says)

    return type_


def last(hour: int, state: str = "RUNNING") -> dict[str, Any]:
    at = datetime(2026, 5, 19, hour, 30, tzinfo=UTC)
    return {"State": state, "EventLastReplayedTime": at}


def test_a_replay_names_its_size_and_price_first(run_replay: Any) -> None:
    events = Events()
    answer = run_replay(events, *SLICE, says="n\n")
    assert answer.code == 1
    assert events.started == []
    said = " ".join(answer.err.split())
    assert "holds 40,000,000 events, 52,400.0 MB, from 2026-05-10 12:00 UTC on" in said
    assert "about 2,000,000 events. EventBridge charges $2.00" in said
    assert "once forget KEY" in said
    assert "Replay 2026-05-19 08:00 to 2026-05-19 20:00 UTC?" in said
    assert "ClaimDays" not in said
    assert "ten minutes" not in said


def test_only_the_rule_of_this_stack_gets_the_events(run_replay: Any) -> None:
    events = Events({"State": "STARTING"}, last(9), last(20, "COMPLETED"))
    answer = run_replay(events, *SLICE)
    assert answer.code == 0, answer.err
    assert "Replayed 2026-05-19 08:00 to 2026-05-19 20:00 UTC" in answer.out
    (asked,) = events.started
    assert asked["Destination"] == {"Arn": BUS, "FilterArns": [RULE]}
    assert asked["EventSourceArn"] == ARCHIVE
    assert asked["EventStartTime"] == datetime(2026, 5, 19, 8, tzinfo=UTC)
    assert asked["EventEndTime"] == datetime(2026, 5, 19, 20, tzinfo=UTC)
    assert len(asked["ReplayName"]) <= 64


def test_an_interrupted_replay_is_cancelled_and_says_how_far_it_came(run_replay: Any) -> None:
    events = Events(last(9), {"State": "Ctrl-C"}, last(11, "CANCELLING"), last(11, "CANCELLED"))
    answer = run_replay(events, *SLICE)
    assert answer.code == 130
    assert events.cancelled == [events.started[0]["ReplayName"]]
    assert "all until 2026-05-19 11:30:00 UTC was sent" in answer.out


def test_one_that_ended_before_it_could_be_cancelled_is_done(
    run_replay: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(*_: Any, **__: Any) -> None:
        raise ClientError({"Error": {"Code": "IllegalStatusException"}}, "CancelReplay")

    monkeypatch.setattr(Events, "cancel_replay", too_late)
    assert run_replay(Events({"State": "Ctrl-C"}, last(20, "COMPLETED")), *SLICE).code == 0


def test_a_replay_that_fails_wants_attention_and_says_why(run_replay: Any) -> None:
    answer = run_replay(Events({"State": "FAILED", "StateReason": "the key is disabled"}), *SLICE)
    assert answer.code == 3
    assert "failed: the key is disabled" in answer.out
    assert "nothing was sent" in answer.out


def test_events_without_a_claim_are_said_to_act_again(run_replay: Any) -> None:
    said = " ".join(run_replay(Events(), *SLICE, says="n\n", claim_days=1).err.split())
    assert "older than ClaimDays (1) have no claim and are acted on again" in said
    assert "all before 2026-05-19 12:00 UTC" in said


def test_recent_events_are_said_to_be_missing_in_the_archive(run_replay: Any) -> None:
    just_now = ("--from", "2026-05-20T11:00Z", "--to", "2026-05-20T13:59+02:00")
    assert "last ten minutes" in run_replay(Events(), *just_now, says="n\n").err


@pytest.mark.parametrize(
    ("begin", "end", "said"),
    [
        ("tuesday", "2026-05-19", "--from tuesday is no time: write it like 2026-05-04T08:00"),
        ("2026-05-19", "8 o'clock", "--to 8 o'clock is no time"),
        ("2026-05-19", "2026-05-18", "--from comes before --to"),
        ("2026-05-19", "2026-05-21", "--to not after now, 2026-05-20 12:00"),
        ("2026-05-01", "2026-05-10", "nothing before 2026-05-10 12:00 UTC"),
    ],
)
def test_an_empty_slice_is_refused(run_replay: Any, begin: str, end: str, said: str) -> None:
    events = Events()
    answer = run_replay(events, "--from", begin, "--to", end)
    assert answer.code == 1
    assert said in " ".join(answer.err.split())
    assert events.started == []


def test_a_stack_without_an_archive_says_how_to_have_one(run_replay: Any) -> None:
    answer = run_replay(Events(), *SLICE, without=ARCHIVE)
    assert answer.code == 1
    assert "Deploy it with ArchiveDays" in answer.err


def test_a_disabled_rule_is_said_before_anything_is_asked(run_replay: Any) -> None:
    answer = run_replay(Events(rule="DISABLED"), *SLICE)
    assert answer.code == 1
    assert "aws events enable-rule --name once-events" in answer.err


@pytest.mark.local
def test_what_acted_is_skipped_in_a_replay_and_acts_again_when_it_was_forgotten(
    tmp_path: Any,
) -> None:
    prefix = "archived.tests"
    event = {**customer_start("archived"), "source": f"{prefix}/cloud/tests"}
    started = datetime.now(UTC) - timedelta(seconds=2)
    with deployed(ArchiveDays="1", SourcePrefix=prefix) as stack:
        (report,) = stack.wait(stack.send_by_bus(event, source_prefix=prefix))
        assert (report.via, report.outcome) == ("bus", "PROCESSED")
        with up(stack, tmp_path):

            def replayed() -> Any:
                slice_ = ("--from", started.isoformat(), "--to", datetime.now(UTC).isoformat())
                return until(
                    lambda: (one := once("replay", *slice_, "--yes", "--json")).code == 0 and one
                )

            assert replayed().json["state"] == "COMPLETED"
            until(
                lambda: [m["outcome"] for m in explained("archived")[0]["messages"]].count(
                    "DUPLICATE"
                )
            )
            assert len(keys_asked(stack, "archived")) == 1
            once("forget", explained("archived")[0]["key"], "--yes")
            replayed()
            until(lambda: len(keys_asked(stack, "archived")) == 2)
