"""`once up --from`: which template is deployed."""

import json
from pathlib import Path
from typing import Any

import pytest

from once.project import ROOT
from once.run import up
from tests.operate.conftest import once


class StartedError(Exception):
    """Instead of the process that would keep the stack."""


@pytest.mark.parametrize("inside", [".", "once/_project"], ids=["a clone", "an unpacked wheel"])
def test_up_deploys_the_version_that_lies_in_the_folder(
    inside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "older" / inside
    folder.mkdir(parents=True)
    (folder / "template.yaml").write_text((ROOT / "template.yaml").read_text())
    monkeypatch.chdir(tmp_path)
    plans = []

    def popen(_: list[str], **options: Any) -> None:
        plans.append(json.load(options["stdin"]))
        raise StartedError

    monkeypatch.setattr(up.subprocess, "Popen", popen)
    for arguments in (["--from", "older"], []):
        with pytest.raises(StartedError):
            once("up", *arguments)
    named, usual = (plan["template"] for plan in plans)
    assert Path(named).samefile(folder / "template.yaml")
    assert usual is None


def test_up_from_a_folder_without_a_template_is_refused(tmp_path: Path) -> None:
    answer = once("up", "--from", str(tmp_path))
    assert (answer.code, "has no template.yaml" in answer.err) == (1, True)
