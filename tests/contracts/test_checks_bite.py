"""Each check of `python -m schemas --check` fails on the change it guards against."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from once_enrichment import declared, families
from once_enrichment.elements import Event
from once_enrichment.family import Family
from pydantic import Field, create_model

from schemas import checks, contracts, examples
from schemas import families as schemas_of_families
from schemas.descriptions import DESCRIPTIONS

ROOT = Path(__file__).parents[2]
Schema = dict[str, Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of all files that the checks look at."""
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    shutil.copytree(ROOT / "events", tmp_path / "events")
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "families.md", tmp_path / "docs")
    shutil.copy(ROOT / "template.yaml", tmp_path)
    return tmp_path


CHECK_SCHEMA = Draft202012Validator.check_schema


@cache
def check_schema(schema: str) -> None:
    CHECK_SCHEMA(json.loads(schema))


@pytest.fixture(autouse=True)
def schemas_are_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Most are the same in each test, and a check of all takes half a second."""
    cached = staticmethod(lambda schema: check_schema(json.dumps(schema)))
    monkeypatch.setattr(Draft202012Validator, "check_schema", cached)


@pytest.fixture
def schemas() -> dict[str, Schema]:
    return contracts.schemas()


def edit(path: Path, change: dict[str, Any]) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | change))


def test_nothing_is_found_as_it_stands() -> None:
    assert checks.find(ROOT) == []


def test_the_command_fails_and_says_what_to_do(root: Path) -> None:
    (root / "schemas" / "event.schema.json").unlink()
    command = [sys.executable, "-m", "schemas", "--check"]
    packages = [str(root), str(ROOT), *(str(ROOT / "functions" / n) for n in ("enrichment",))]
    packages.append(str(ROOT / "functions" / "data_action"))
    done = subprocess.run(
        command,
        cwd=root,
        env={"PYTHONPATH": ":".join(packages)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done
    assert "event.schema.json: is not what the models say; run `make schemas`" in done.stderr


def event_with(monkeypatch: pytest.MonkeyPatch, **fields: Any) -> None:
    """The model of the event, with fields added or replaced."""
    model = create_model("Event", __base__=Event, **fields)
    changed = tuple(
        replace(contract, model=model) if contract.name == "event" else contract
        for contract in contracts.CONTRACTS
    )
    monkeypatch.setattr(contracts, "CONTRACTS", changed)


def test_a_new_field_is_drift_until_it_is_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_with(monkeypatch, mood=(str | None, Field(None, description="How it went.")))
    found = [line.partition(":")[0] for line in checks.find(root)]
    assert found == ["schemas/event.schema.json"]
    checks.write(root)
    assert checks.find(root) == []


def test_a_field_that_says_nothing_about_itself_is_found(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_with(monkeypatch, mood=(str | None, None))
    checks.write(root)
    assert ["event: mood has no description" in line for line in checks.find(root)] == [True]


def test_every_field_of_every_schema_must_say_what_it_is(schemas: dict[str, Schema]) -> None:
    for name, schema in schemas.items():
        assert schema["title"], name
        assert schema["description"], name
        for part in (schema, *schema.get("$defs", {}).values()):
            for field, inner in part.get("properties", {}).items():
                if "$ref" not in inner:  # else what it refers to may say it
                    said = inner.pop("description")
                    assert list(contracts.undescribed(schema)) == [field], (name, field)
                    inner["description"] = said
    del schemas["claim-row"]["properties"]["tries"]["description"]
    (line,) = checks.malformed(schemas)
    assert line.startswith("claim-row: tries has no description; give the model's field")


def test_description_of_no_field_is_found(
    schemas: dict[str, Schema], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(checks.idle(schemas)) == []
    for name in ("mood", "Trace.mood", "Subject.source"):
        monkeypatch.setitem(DESCRIPTIONS, name, "How it feels.")
    assert [line.split()[1] for line in checks.idle(schemas)] == [
        "mood",
        "Trace.mood",
        "Subject.source",
    ]


def test_a_schema_of_no_model_is_found_and_removed(root: Path) -> None:
    stray = root / "schemas" / "user.mood.schema.json"
    stray.write_text("{}")
    assert any("follows from no model" in line for line in checks.find(root))
    checks.write(root)
    assert not stray.exists()


def test_a_schema_of_the_registry_edited_by_hand_is_found_and_written_again(root: Path) -> None:
    template = root / "template.yaml"
    before = template.read_text()
    template.write_text(before.replace('"title":"Event on the target bus"', '"title":"Any event"'))
    (line,) = checks.find(root)
    assert line.startswith("template.yaml: is not what the models say; run `make schemas`")
    checks.write(root)
    assert template.read_text() == before


def test_a_template_with_no_place_for_the_schema_is_refused(root: Path) -> None:
    template = root / "template.yaml"
    template.write_text(template.read_text().replace("  EventSchema:", "  Schema:"))
    with pytest.raises(ValueError, match="EventSchema has no Content"):
        checks.find(root)


def test_a_table_of_families_edited_by_hand_is_found(root: Path) -> None:
    path = root / "docs" / "families.md"
    path.write_text(path.read_text().replace("| latest |", "| none |", 1))
    assert any(line.startswith("docs/families.md") for line in checks.find(root))


class Guest(Family):
    """Who sits at a table."""

    topics = ("v2.tables.{id}.guest",)
    order = "changes"
    shown = "userId"


@pytest.fixture
def one_more_family(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(families.BY_TOPIC, Guest.topics[0], Guest)
    monkeypatch.setattr(schemas_of_families, "FAMILIES", (*families.FAMILIES, Guest))
    monkeypatch.setitem(checks._DECLARED, "table.guest", Guest)


@pytest.mark.usefixtures("one_more_family")
def test_whoever_adds_a_family_is_led_through_the_steps(root: Path) -> None:
    def found() -> list[str]:
        return [line.partition(";")[0] for line in checks.find(root)]

    assert found() == [
        "docs/families.md: is not what the models say",
        "schemas/examples/table.guest.event.json: is missing",
    ]
    event = json.loads((root / "schemas/examples/routing.queue.users.event.json").read_text())
    event["detail-type"] = "v2.tables.{id}.guest"
    event["detail"] |= {"topicName": "v2.tables.d7.guest", "eventBody": {"userId": "u"}}
    (root / "schemas/examples/table.guest.event.json").write_text(json.dumps(event))
    checks.write(root)
    element = json.loads((root / "schemas/examples/table.guest.element.json").read_text())
    assert element["key"]["sk"].startswith("v1/table.guest/~")
    assert found() == []


PRESENCE = "v2.users.{id}.presence"


@pytest.fixture
def poorer_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presence without its source: two sources would become copies of each other."""

    class Poorer(families.BY_TOPIC[PRESENCE]):  # type: ignore[misc] # a class made at run time
        source: Any = None

    monkeypatch.setitem(families.BY_TOPIC, PRESENCE, Poorer)


@pytest.mark.usefixtures("poorer_identity")
def test_a_changed_key_fails_and_writing_the_files_again_does_not_hide_it(root: Path) -> None:
    for _ in range(2):
        (line,) = checks.find(root)
        assert line.startswith("schemas/examples/user.presence.element.json: the key changed")
        assert "raise KEY_VERSION" in line
        checks.write(root)


@pytest.mark.usefixtures("poorer_identity")
def test_a_changed_key_of_a_new_version_is_taken(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declared, "KEY_VERSION", "v2")
    checks.write(root)
    assert checks.find(root) == []
    element = json.loads((root / "schemas/examples/user.presence.element.json").read_text())
    assert element["key"]["sk"].startswith("v2/user.presence/")


def test_an_event_that_is_no_event_any_more_counts_as_a_changed_key() -> None:
    pinned = {"key": {"pk": "a", "sk": "v1/b"}}
    assert list(examples.changed_key("one", pinned, {"kind": "parked"}))


def test_an_element_must_fit_its_schema_and_the_enrichment(root: Path) -> None:
    folder = root / "schemas" / "examples"
    edit(folder / "agent.state.element.json", {"occurredAt": "yesterday", "mood": "sad"})
    found = checks.find(root)
    for said in (
        "agent.state.element.json: $.occurredAt: 'yesterday' does not match",
        "('mood' was unexpected)",
        "agent.state.element.json: the enrichment answers otherwise",
    ):
        assert any(said in line for line in found), said


def test_every_family_and_every_contract_has_an_example(root: Path) -> None:
    folder = root / "schemas" / "examples"
    for name in ("user.presence.event.json", "user.presence.element.json", "claim-row.json"):
        (folder / name).unlink()
    found = checks.find(root)
    assert any("user.presence.event.json: is missing" in line for line in found)
    assert any("claim-row.json: is missing" in line for line in found)


def test_an_example_that_lacks_its_identity_is_none(root: Path) -> None:
    path = root / "schemas" / "examples" / "agent.state.event.json"
    event = json.loads(path.read_text())
    del event["detail"]["eventBody"]["sessionId"]
    edit(path, event)
    path.with_name("agent.state.element.json").unlink()
    checks.write(root)
    assert ["lacks what identifies it" in line for line in checks.find(root)] == [True]


def test_our_own_output_may_hold_nothing_undeclared_but_readers_must_bear_it(
    schemas: dict[str, Schema],
) -> None:
    row = json.loads((ROOT / "schemas" / "examples" / "claim-row.json").read_text())
    more = row | {"mood": "sad"}
    assert Draft202012Validator(schemas["claim-row"]).is_valid(more)
    assert not Draft202012Validator(contracts.closed(schemas["claim-row"])).is_valid(more)
