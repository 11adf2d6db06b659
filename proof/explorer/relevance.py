"""Finds what can still matter: the variables that a state machine may yet read, and the attributes
that its expressions read. The explorer forgets the rest, so that fewer states differ."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from proof.asl.position import Iterations, Position, Scope
from proof.definition.asl import strings

# A variable, or one field of it.
_VARIABLE = re.compile(r"\$([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)")
_READS_INPUT = "$states.input"
# What a record only says, and what only pacing asks of it.
_SAID = {"because", "tries", "cause", "status", "ageMs", "durationMs", "idempotencyKey"} | {
    "pk",
    "family",
    "occurredAtMs",
    "windowMs",
    "envelopeId",
    "eventId",
    "source",
    "returnsAtMs",
    "note",
    "errorClass",
}
_PACINGS = {"leaseUntilMs", "failedAtMs", "firstFailure", "retryAfterSeconds", "unconfirmed"}
_RECORDS, _VERDICT = "records", "verdict"


class Relevance:
    def __init__(self, definition: Mapping[str, Any], *, paced: bool) -> None:
        self._live: dict[str, frozenset[str]] = {}
        self._texts: dict[str, str] = {}
        self._levels(definition["States"])
        self._reads_batch = "Execution.Input" in json.dumps(definition)
        self._read = _words_of_expressions(definition)
        self._said = _SAID if paced else _SAID | _PACINGS

    def forget(self, position: Position) -> Position:
        """The position without the variables and the input that nothing ahead of it reads."""
        execution = position.execution
        batch = execution.input if self._reads_batch else []
        top, _ = self._forgotten(position.top)
        return Position(replace(execution, input=batch), top)

    def _forgotten(self, scope: Scope) -> tuple[Scope, frozenset[str]]:
        live = self._live[scope.state]
        iterations = scope.iterations
        if iterations:
            running = {}
            for index, inner in iterations.running.items():
                running[index], below = self._forgotten(inner)
                live |= below
            iterations = self._left_of(iterations, running)
        kept = dict(_left_of_variables(scope.variables, live))
        if _RECORDS in kept:
            kept[_RECORDS] = [self._without_said(record) for record in kept[_RECORDS]]
        if _VERDICT in kept:
            read = {"tries", "cause", "failedAtMs"}
            kept[_VERDICT] = {
                name: value
                for name, value in kept[_VERDICT].items()
                if name in read or name not in self._said
            }
        given = scope.input if _READS_INPUT in self._texts[scope.state] else None
        return replace(scope, variables=kept, input=given, iterations=iterations), live

    def _left_of(self, iterations: Iterations, running: dict[int, Scope]) -> Iterations:
        begun = {*running, *iterations.outputs}
        items = [None if at in begun else item for at, item in enumerate(iterations.items)]
        outputs = {at: self._without_said(one) for at, one in iterations.outputs.items()}
        return replace(iterations, items=items, running=running, outputs=outputs)

    def _without_said(self, record: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in record.items() if name not in self._said}

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
                    *(_without(live[exit_to], assigned) for exit_to, assigned in _exits(state))
                )
                changed |= ahead != live[name]
                live[name] = ahead
        self._live.update(live)

    def _uses(self, name: str, state: Mapping[str, Any]) -> frozenset[str]:
        inner = state.get("ItemProcessor")
        outer = {field: value for field, value in state.items() if field != "ItemProcessor"}
        self._texts[name] = json.dumps(outer)
        own = frozenset(_VARIABLE.findall(" ".join(_expressions(outer))))
        return own | self._live[inner["StartAt"]] if inner else own


def _left_of_variables(
    variables: Mapping[str, Any], live: frozenset[str]
) -> Iterator[tuple[str, Any]]:
    for name, value in variables.items():
        fields = _fields(live).get(name, frozenset())
        if "" in fields or (fields and not isinstance(value, dict)):
            yield name, value
        elif fields:
            yield name, {field: inner for field, inner in value.items() if field in fields}


@cache
def _fields(live: frozenset[str]) -> dict[str, frozenset[str]]:
    """The fields of each variable, "" for all of it."""
    found: dict[str, set[str]] = {}
    for path in live:
        name, _, field = path.partition(".")
        found.setdefault(name, set()).add(field)
    return {name: frozenset(fields) for name, fields in found.items()}


def _without(live: frozenset[str], assigned: frozenset[str]) -> frozenset[str]:
    return frozenset(path for path in live if path.partition(".")[0] not in assigned)


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
    """Every word in a condition, in a name it goes by, and behind a dot in JSONata."""
    texts = [".".join(re.findall(r"\.(\w+)", text)) for text in _expressions(definition)]

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
