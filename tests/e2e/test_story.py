"""The example stream becomes what its story says, over the real endpoints of the emulator.

One by one it is sent by tests/e2e/test_wheel.py.
"""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from once.project import ROOT
from proof.story import FOLDER

pytestmark = pytest.mark.local

STORY = FOLDER / "story.jsonl"
EXPECTED: list[dict[str, Any]] = json.loads((FOLDER / "story.expected.json").read_text())


def once_run(
    events: Path, folder: Path, *options: str, environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The report of a run that ended well; the real command, as a user starts it."""
    report = folder / "report.json"
    done = subprocess.run(
        [sys.executable, "-m", "once.cli", "run", str(events), "--report", str(report), *options],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    answer: dict[str, Any] = json.loads(report.read_text())
    one = answer["received"] == 1
    said = "The message is" if one else f"All {answer['received']} messages are"
    assert f"{said} accounted for: " in done.stdout
    return answer


def check_acts(report: dict[str, Any]) -> None:
    """Each processed event acted once; the one that was limited and failed had three requests."""
    processed = {e["line"] for e in report["events"] if e["outcome"] == "PROCESSED"}
    actions = {action["line"]: action for action in report["actions"]}
    assert set(actions) == processed
    assert len(report["actions"]) == len(actions)
    assert {action["effects"] for action in actions.values()} == {1}
    limited = next(e["line"] for e in EXPECTED if e["happening"] == "call: agent takes it")
    assert {line: a["calls"] for line, a in actions.items() if a["calls"] > 1} == {limited: 3}


def check_one_by_one(report: dict[str, Any]) -> None:
    """Each line becomes what the story says, and a copy names the line that it is a copy of."""
    assert report["received"] == len(EXPECTED)
    expected = [{"line": e["line"], "outcome": e["outcome"]} for e in EXPECTED]
    found = [{"line": e["line"], "outcome": e["outcome"]} for e in report["events"]]
    assert found == expected
    assert [e["key"] for e in report["events"] if e["outcome"] == "PARKED"] == [None]
    first_of = {}
    for event, expected in zip(report["events"], EXPECTED, strict=True):
        first = first_of.setdefault(expected["happening"], event["line"])
        if event["outcome"] == "DUPLICATE":
            assert event["becauseOfLine"] == first
    check_acts(report)


def check_groups(report: dict[str, Any]) -> None:
    """Not one by one, who of the copies comes first is open; what they become together is not."""
    outcomes = defaultdict(list)
    overtakable = set()
    for event, expected in zip(report["events"], EXPECTED, strict=True):
        outcomes[expected["happening"]].append(event["outcome"])
        if expected.get("overtakable"):
            overtakable.add(expected["happening"])
    for happening, found in outcomes.items():
        if happening in overtakable:
            assert found.count("PROCESSED") <= 1, happening
            assert {"PROCESSED", "STALE"} & set(found), happening
            assert set(found) <= {"PROCESSED", "STALE", "DUPLICATE"}, happening
        elif happening == "a line cut off":
            assert found == ["PARKED"]
        else:
            assert sorted(found) == ["DUPLICATE"] * (len(found) - 1) + ["PROCESSED"], happening


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return once_run(STORY, tmp_path_factory.mktemp("at-once"))


def test_all_at_once_each_group_of_copies_acts_once(at_once: dict[str, Any]) -> None:
    check_groups(at_once)
    check_acts(at_once)
    assert {event["via"] for event in at_once["events"]} == {"queue"}


def test_by_bus_and_rule_it_is_the_same_story(tmp_path: Path) -> None:
    # A partner's sources are refused by PutEvents; simulated ones stand in for them.
    events = tmp_path / "story.jsonl"
    events.write_text(STORY.read_text().replace('"source":"aws.', '"source":"simulate.aws.'))
    (tmp_path / "story.destination.json").write_text(
        (FOLDER / "story.destination.json").read_text()
    )
    report = once_run(
        events, tmp_path, "--via", "bus", "--set", "SourcePrefix=simulate.aws.partner"
    )
    check_groups(report)
    check_acts(report)
    # What has another source than the rule looks for, or is no JSON, cannot travel by it.
    by_queue = {
        number
        for number, line in enumerate(events.read_text().splitlines(), 1)
        if '"source":"simulate.aws.partner' not in line or not line.endswith("}")
    }
    assert {e["line"] for e in report["events"] if e["via"] == "queue"} == by_queue
    assert 0 < len(by_queue) < 20


@pytest.mark.skipif(sys.platform != "linux", reason="wheels are kept on Linux only")
@pytest.mark.usefixtures("at_once")
def test_later_runs_at_the_same_time_need_no_index_and_do_not_disturb_each_other(
    tmp_path: Path,
) -> None:
    unreachable = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
        "PIP_FIND_LINKS": "",
        "PIP_RETRIES": "0",
    }
    lines = STORY.read_text().splitlines(keepends=True)
    counts = (4, 7)
    folders = [tmp_path / str(count) for count in counts]
    for folder, count in zip(folders, counts, strict=True):
        folder.mkdir()
        (folder / "events.jsonl").write_text("".join(lines[:count]))
    with ThreadPoolExecutor() as pool:
        reports = list(
            pool.map(
                lambda f: once_run(f / "events.jsonl", f, "--step", environment=unreachable),
                folders,
            )
        )
    for report, count in zip(reports, counts, strict=True):
        assert report["received"] == count
        acted = {e["line"] for e in report["events"] if e["outcome"] == "PROCESSED"}
        assert {action["line"] for action in report["actions"]} == acted
        assert {action["calls"] for action in report["actions"]} == {1}
