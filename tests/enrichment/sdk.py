"""Event bodies made from the models of the Genesys SDK: a source of shapes that is not ours."""

import ast
import re
import uuid
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from tests.enrichment import examples

_LINES = Path(__file__).with_name("topics.txt").read_text("utf-8").splitlines()
MODELS: dict[str, str] = {topic: model for topic, _, model in (t.partition(" ") for t in _LINES)}
"""Every topic of Genesys Cloud, with the model of its body: the SDK has no such table."""

START = datetime(2025, 3, 12, 9, tzinfo=UTC)
_DEPTH = 5  # a conversation's messages lie this deep
_TIME_NAME = re.compile(r"(time|timestamp|timems|start|scheduledtime)$", re.IGNORECASE)
_DATE_NAME = re.compile(r"^date[A-Z]|Date$|^created$|^exportTimestamp$|^invocationTime$")
_DURATION = re.compile(r"(duration|timeout|interval|estimated|actual|expiry)", re.IGNORECASE)


class Sdk:
    """The models of one version of the SDK, read from their files: importing it would load 5,000
    modules for the few used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "models"
        index = (self.folder / "__init__.py").read_text()
        imports = re.findall(r"^from \.(\w+) import (\w+)$", index, re.M)
        self.modules = {model: module for module, model in imports}
        self._fields: dict[str, dict[str, str]] = {}

    def fields(self, model: str) -> dict[str, str]:
        """The fields of a model by their names in JSON, with the SDK's names of their types."""
        if model not in self._fields:
            assert model in self.modules, (
                f"The SDK has no model {model} any more. Look for its successor in Genesys' list "
                "of notification topics, and change tests/enrichment/topics.txt."
            )
            kinds, names = self.table(model, "swagger_types"), self.table(model, "attribute_map")
            self._fields[model] = {names[field]: kind for field, kind in kinds.items()}
        return self._fields[model]

    def text(self, model: str) -> str:
        return (self.folder / f"{self.modules[model]}.py").read_text()

    def table(self, model: str, name: str) -> dict[str, str]:
        """A table of a model by its fields, as the SDK names them."""
        [table] = re.findall(rf"self\.{name} = (\{{.*?\}})", self.text(model), re.S)
        return dict(ast.literal_eval(table))


@cache
def installed() -> Sdk:
    spec = find_spec("PureCloudPlatformClientV2")
    assert spec is not None, "PureCloudPlatformClientV2 is not installed: run make setup"
    assert spec.origin is not None
    return Sdk(Path(spec.origin).parent)


def is_time(name: str, kind: str) -> bool:
    """Returns true if a field is a point in time."""
    if kind in ("datetime", "date"):
        return True
    if kind == "int":
        return bool(_TIME_NAME.search(name)) and not _DURATION.search(name)
    return kind == "str" and bool(_DATE_NAME.search(name))


class Maker:
    """Makes bodies; the same seed makes the same body."""

    def __init__(self, seed: int, sdk: Sdk | None = None) -> None:
        self._sdk = sdk or installed()
        self._random = Random(seed)  # noqa: S311

    def body(self, topic: str) -> dict[str, Any]:
        """A body with every field that the topic's model has."""
        return self._object(MODELS[topic], 0)

    def id(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def value(self, name: str, kind: str, depth: int = 0) -> Any:
        random = self._random
        if kind.startswith("list["):
            inner = kind.removeprefix("list[").removesuffix("]")
            return [self.value(name.removesuffix("s"), inner, depth + 1) for _ in range(2)]
        if kind.startswith("dict("):
            inner = kind.removesuffix(")").split(",", 1)[1].strip()
            return {f"key {n}": self.value(name, inner, depth + 1) for n in range(2)}
        if is_time(name, kind):
            return self._time(kind)
        if kind == "str":
            return self.id() if name == "id" or name.endswith("Id") else self._word()
        if kind == "int":
            return random.randrange(1, 10_000)
        if kind == "float":
            return random.randrange(1, 1000) / 8
        if kind == "bool":
            return random.random() < 0.5
        if kind == "object":
            return {"some": self._word()}
        return self._object(kind, depth + 1)

    def _object(self, model: str, depth: int) -> dict[str, Any]:
        if depth > _DEPTH:
            return {}
        return {
            name: self.value(name, kind, depth) for name, kind in self._sdk.fields(model).items()
        }

    def _time(self, kind: str) -> Any:
        moment = START + timedelta(milliseconds=self._random.randrange(1, 3_600_000))
        if kind == "int":
            return int(moment.timestamp() * 1000)
        if kind == "date":
            return moment.date().isoformat()
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def _word(self) -> str:
        return "".join(self._random.choices("ABCDEFGHIKLMNOPRSTUVWYZ_", k=9))


def topic_name(template: str, maker: Maker, body: dict[str, Any]) -> str:
    """The topic with ids filled in: those of the body, where it has them under that name."""
    parts = template.split("{id}")
    name = parts[0]
    for rest in parts[1:]:
        noun = name.rstrip(".").rpartition(".")[2].removesuffix("s")
        own = body.get(f"{noun}Id")
        name += (own if isinstance(own, str) else maker.id()) + rest
    return name


def event(template: str, seed: int, sdk: Sdk | None = None) -> dict[str, Any]:
    """An event as EventBridge delivers it, with a full body."""
    maker = Maker(seed, sdk)
    body = maker.body(template)
    published = START + timedelta(hours=1, milliseconds=maker._random.randrange(1, 999))
    timestamp = published.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    topic = topic_name(template, maker, body)
    return examples.event(template, body, topicName=topic, timestamp=timestamp)
