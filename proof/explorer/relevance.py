"""What can still matter: the variables that a state machine may yet read, and the attributes that
some expression of it reads. The explorer forgets the rest, so that fewer states differ."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from proof.definition.asl import strings
from proof.explorer.machine import Frame, Position

_VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
_READS_INPUT = "$states.input"


class Relevance:
    def __init__(self, definition: Mapping[str, Any]) -> None:
        self._live: dict[str, frozenset[str]] = {}
        self._texts: dict[str, str] = {}
        self._levels(definition["States"])
        self._reads_batch = "Execution.Input" in json.dumps(definition)
        self._read = _words_of_expressions(definition)

    def forget(self, position: Position) -> Position:
        """The position without the variables and the input that nothing ahead of it reads."""
        below: frozenset[str] = frozenset()
        frames: list[Frame] = []
        for frame in reversed(position.frames):
            live = self._live[frame.state] | below
            kept = {name: value for name, value in frame.variables.items() if name in live}
            needed = _READS_INPUT in self._texts[frame.state]
            frames.append(replace(frame, variables=kept, input=frame.input if needed else None))
            below = live
        batch = position.batch if self._reads_batch else []
        return replace(position, frames=tuple(reversed(frames)), batch=batch)

    def keeps(self, attribute: str) -> bool:
        return attribute in self._read or attribute in ("pk", "sk", "outcome", "expires_at")

    def _levels(self, states: Mapping[str, Any]) -> None:
        for state in states.values():
            if "ItemProcessor" in state:
                self._levels(state["ItemProcessor"]["States"])
        uses = {name: self._uses(name, state) for name, state in states.items()}
        live = dict(uses)
        changed = True
        while changed:
            changed = False
            for name, state in states.items():
                ahead = uses[name].union(
                    *(live[exit_to] - assigned for exit_to, assigned in _exits(state))
                )
                changed |= ahead != live[name]
                live[name] = ahead
        self._live.update(live)

    def _uses(self, name: str, state: Mapping[str, Any]) -> frozenset[str]:
        self._texts[name] = json.dumps(state)
        own = frozenset(_VARIABLE.findall(" ".join(_expressions(state))))
        inner = state.get("ItemProcessor")
        return own | self._live[inner["StartAt"]] if inner else own


def _exits(state: Mapping[str, Any]) -> Iterator[tuple[str, frozenset[str]]]:
    rules: Iterable[Mapping[str, Any]] = [*state.get("Choices", []), *state.get("Catch", [])]
    for rule in rules:
        yield rule["Next"], frozenset(rule.get("Assign", {}))
    for field in ("Next", "Default"):
        if field in state:
            yield state[field], frozenset(state.get("Assign", {}))


def _expressions(value: Any) -> Iterator[str]:
    return (text for text in strings(value) if text.startswith("{%"))


def _words_of_expressions(definition: Mapping[str, Any]) -> frozenset[str]:
    """Every word in a condition, in a name it goes by, and in JSONata."""
    texts = list(_expressions(definition))

    def collect(value: Any) -> None:
        if isinstance(value, Mapping):
            if "ConditionExpression" in value:
                texts.append(value["ConditionExpression"])
                texts.extend(value.get("ExpressionAttributeNames", {}).values())
            for inner in value.values():
                collect(inner)
        elif isinstance(value, list):
            for inner in value:
                collect(inner)

    collect(definition)
    return frozenset(re.findall(r"\w+", " ".join(texts)))
