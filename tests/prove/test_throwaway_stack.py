"""Throwaway stacks that end otherwise than they should: a pipe that loses events, and Ctrl-C."""

from pathlib import Path
from typing import Any

import pytest

from once.local.aws import Emulator
from once.local.pipe import Ending, PipeRunner
from proof.prove import failures, ledger, messages, sink, throwaway
from proof.prove.command import OnEmulator
from proof.prove.ledger import Ledger
from proof.prove.question import put
from proof.prove.site import Site, new_run
from tests.prove.conftest import all_that_is_there

pytestmark = pytest.mark.local


def test_a_pipe_that_loses_a_failed_batch_is_found(
    aws: Emulator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An emulator that deletes what failed, as AWS might."""
    execute = PipeRunner._execute

    def forgetful(*arguments: Any) -> tuple[Ending, frozenset[str], str]:
        ending, keep, detail = execute(*arguments)
        failed = ending in (Ending.TARGET_FAILED, Ending.ENRICHMENT_FAILED)
        return (Ending.SUCCEEDED if failed else ending), keep, detail

    monkeypatch.setattr(PipeRunner, "_execute", forgetful)
    monkeypatch.setattr(messages, "patience_seconds", lambda _: 8)
    # What was taken must have failed before the fault ends, on a busy machine too.
    monkeypatch.setattr(failures, "silence_seconds", lambda _: 12)
    site = Site(OnEmulator(aws), Ledger.open(new_run(), {}, tmp_path))
    try:
        with throwaway.deployed(site, aws) as stack:
            for asked in failures.questions(stack):
                assert asked.ask(site, False) == {"lost": 5}, asked.name
    finally:
        site.clean()
        site.ledger.release()


@pytest.mark.parametrize(
    "moment",
    [
        "deploying (sam deploy)",
        "creating the stack",
        "changing ActionFunctionArn",
        "deleting the stack",
        "deleting the table",
    ],
)
def test_an_interrupted_deployment_leaves_nothing(
    aws: Emulator, before: dict[str, int], tmp_path: Path, moment: str
) -> None:
    interrupted: list[str] = []

    def step(what: str) -> None:
        if what.startswith(moment) and not interrupted:
            interrupted.append(what)
            raise KeyboardInterrupt

    site = Site(OnEmulator(aws), Ledger.open(new_run(), {}, tmp_path), step)
    try:
        with throwaway.deployed(site, aws) as stack:
            if not moment.startswith("deleting"):
                put(next(sink.questions(stack)), site)
    except KeyboardInterrupt:
        pass
    else:
        with pytest.raises(KeyboardInterrupt):
            site.clean()
    assert interrupted
    site.ledger.release()
    for left in ledger.kept(tmp_path):
        Site(OnEmulator(aws), left).clean()
    assert all_that_is_there(aws) == before
    assert ledger.kept(tmp_path) == []
