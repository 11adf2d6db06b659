"""The files made from the pinned SDK of Genesys: the fields that `once routes check` knows, and the
comparison with a newer SDK."""

import shutil
from pathlib import Path

from once.routes import fields
from tests.enrichment import drift, sdk
from tests.enrichment.sdk import MODELS, Sdk
from tests.enrichment.topic_fields import FILE, document

TOPIC = "v2.detail.events.conversation.{id}.acw"


def test_renamed_time_is_gone_and_new_and_makes_the_key_fall_back(tmp_path: Path) -> None:
    pinned, model = sdk.installed(), MODELS[TOPIC]
    (tmp_path / "models").mkdir()
    shutil.copy(pinned.folder / "__init__.py", tmp_path / "models")
    renamed = pinned.text(model).replace("'eventTime'", "'happenedAt'")
    (tmp_path / "models" / f"{pinned.modules[model]}.py").write_text(renamed)
    newer = Sdk(tmp_path)
    differences = drift.differences(drift.shape(pinned, model), drift.shape(newer, model))
    assert [*differences] == ["new: `happenedAt` (int)", "gone: `eventTime`"]
    assert "change the family" in drift.meaning(TOPIC, newer)


def test_same_sdk_has_no_drift() -> None:
    assert drift.report(sdk.installed(), sdk.installed()) == ""


def test_fields_are_those_of_the_pinned_sdk() -> None:
    assert FILE.read_text() == document(), "run: make fields"


def test_fields_are_found_in_lists_objects_and_attributes() -> None:
    shapes = fields.shapes()
    snapshot, attributes = shapes["user.conversations"], shapes["conversation.attributes"]
    outcomes = ["UNKNOWN", "ABANDON", "ANSWERED", "FLOW_OUT"]
    assert fields.find_field(snapshot, ("participants", "calls", "held")) == "boolean"
    assert fields.find_field(attributes, ("attributes", "any name")) == "any"
    assert fields.find_field(shapes["conversation.acd.end"], ("acdOutcome",)) == outcomes
    assert fields.find_field(snapshot, ("participants", "nothing")) is None
