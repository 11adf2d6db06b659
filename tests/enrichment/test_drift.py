"""The comparison of two versions of the Genesys SDK names each change of a topic."""

import shutil
from pathlib import Path

import pytest

from tests.enrichment import drift, sdk
from tests.enrichment.sdk import MODELS, Sdk

TOPIC = "v2.detail.events.conversation.{id}.acw"


@pytest.fixture
def newer(tmp_path: Path) -> Sdk:
    """A copy of the models of one topic."""
    pinned = sdk.installed()
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(pinned.folder / "__init__.py", folder)
    shutil.copy(pinned.folder / f"{pinned.modules[MODELS[TOPIC]]}.py", folder)
    return Sdk(tmp_path)


def rename(newer: Sdk, old: str, new: str) -> None:
    path = newer.folder / f"{newer.modules[MODELS[TOPIC]]}.py"
    text = path.read_text()
    assert f"'{old}'" in text
    path.write_text(text.replace(f"'{old}'", f"'{new}'"))


def said(newer: Sdk) -> list[str]:
    model = MODELS[TOPIC]
    return list(drift.differences(drift.shape(sdk.installed(), model), drift.shape(newer, model)))


def test_a_renamed_time_is_gone_and_new_and_makes_the_key_fall_back(newer: Sdk) -> None:
    rename(newer, "eventTime", "happenedAt")
    assert said(newer) == ["new: `happenedAt` (int)", "gone: `eventTime`"]
    assert "change the family" in drift.meaning(TOPIC, newer)


def test_a_new_version_of_the_whole_sdk_reports_nothing_if_it_is_the_same() -> None:
    assert drift.report(sdk.installed(), sdk.installed()) == ""
