"""A newer version is deployed over an older one while events wait, and one part after the other."""

import io
import json
import shutil
import subprocess
import tarfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from once.embedded.aws import EmbeddedAws
from once.genesys.server import GenesysServer
from once.operate.stack import Stack
from once.project import ROOT
from proof.embedded import Embedded
from proof.events import customer_start
from proof.template import TEMPLATE
from tests.e2e.test_kept_claims import Account
from tests.operate.support import until, verdict
from tests.operate.test_up import typed

pytestmark = pytest.mark.embedded

# The first commit at which machine and functions ask and answer each other as in version 0.2.0.
OLDER = "a67fbbe"
DEPLOYED = ("template.yaml", "statemachine", "functions")


@pytest.fixture(scope="module")
def older(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it was then."""
    git = shutil.which("git")
    command = [git or "git", "-C", str(ROOT), "archive", OLDER, *DEPLOYED]
    archived = subprocess.run(command, capture_output=True) if git else None
    if archived is None or archived.returncode:
        pytest.skip(f"the commit {OLDER} is not here: fetch the whole history")
    folder = tmp_path_factory.mktemp("older")
    with tarfile.open(fileobj=io.BytesIO(archived.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def account() -> Iterator[Account]:
    with EmbeddedAws.start() as aws, GenesysServer() as destination:
        yield Account(aws, destination)


def left(stack: Embedded) -> int:
    """How many messages the queue still has, whatever they wait for."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.outputs["EventQueueUrl"], AttributeNames=names
    )["Attributes"]
    return sum(map(int, found.values()))


def acts(account: Account) -> Counter[str]:
    records = account.destination.keys.values()
    return Counter({r.facts["conversationId"]: r.acts for r in records if r.acts})


def test_a_newer_version_loses_and_doubles_nothing_of_what_waits(
    account: Account, older: Path
) -> None:
    waiting = [customer_start(f"waits-{number}") for number in range(6)]
    before = [customer_start(f"before-{number}") for number in range(3)]
    with account.stack(older / "template.yaml") as old:
        old.settle(*before)
        account.destination.answer_always({"status": 503})
        old.send(*waiting)
        until(lambda: len(account.destination.received("execute")) >= len(before) + len(waiting))
    account.destination.answer_always(None)
    with account.stack() as new:
        assert left(new) == len(waiting)
        new.settle(*before, customer_start("after"))
        until(lambda: left(new) == 0)
    everything = [*before, *waiting, customer_start("after")]
    named = {event["detail"]["eventBody"]["conversationId"] for event in everything}
    assert acts(account) == dict.fromkeys(named, 1)


@pytest.mark.parametrize(
    "part",
    ["statemachine", "functions/enrichment", "functions/data_action", "functions/pacing"],
)
def test_while_an_upgrade_is_half_done_old_and_new_parts_understand_each_other(
    account: Account, older: Path, tmp_path: Path, part: str
) -> None:
    """CloudFormation changes functions and machine one after the other, and the pipe goes on."""
    shutil.copy(ROOT / "template.yaml", tmp_path)
    for name in ("statemachine", "functions"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.rmtree(tmp_path / part)
    shutil.copytree(older / part, tmp_path / part)
    match = {"conversationId": "fails-once"}
    account.destination.script.add({"match": match, "replies": [503, 503]})
    event, failing = customer_start("acts"), customer_start("fails-once")
    with account.stack(tmp_path / "template.yaml", MaxActionsPerMinute="300") as stack:
        reports = stack.settle(event, failing, "no event")
        assert [report.outcome for report in reports] == ["PROCESSED", "PROCESSED", "PARKED"]
        (copy,) = stack.settle(event)
        assert copy.outcome == "DUPLICATE"
    assert acts(account) == {"acts": 1, "fails-once": 1}


def test_once_up_from_a_folder_brings_up_the_version_that_lies_there(
    older: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    unpacked = tmp_path / "wheel" / "once" / "_project"
    unpacked.parent.mkdir(parents=True)
    shutil.copytree(older, unpacked)
    (tmp_path / "e.jsonl").write_text(json.dumps(customer_start("of-an-older-version")))
    try:
        up = typed("up", "--from", "wheel")
        assert up.returncode == 0, up.stdout + up.stderr
        stack = Stack.find(None, None, None)
        described = stack.client("cloudformation").describe_stacks(StackName=stack.name)
        known = {one["ParameterKey"] for one in described["Stacks"][0]["Parameters"]}
        assert known
        assert known < TEMPLATE["Parameters"].keys(), "it has none of what came later"
        assert typed("send", "e.jsonl", "--wait").returncode == 0
        assert verdict("of-an-older-version") == "acted once"
    finally:
        typed("down")
