"""Ways to break the state machine, each an edit of its definition, and each to be caught.

A clause is one of the alternatives of a condition; a guard is one of the parts of a clause.
"""

import json
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from proof.definition.asl import definition, states
from proof.explorer.scenario import Scenario
from proof.explorer.search import Found, explore
from proof.explorer.tasks import machine_of
from proof.explorer.world import World

States = dict[str, dict[str, Any]]
Edit = Callable[[States], None]


@dataclass(frozen=True)
class Mutant:
    name: str
    edit: Edit
    scenario: Scenario
    # What of pacing is replaced, by its path, and with what.
    pacing: tuple[str, Any] | None = None

    def definition(self, scenario: Scenario | None = None) -> dict[str, Any]:
        """Broken, with what its own scenario fills in, or another."""
        machine = definition((scenario or self.scenario).filled_in())
        before = json.dumps(machine)
        self.edit(states(machine))
        if self.edit is not no_edit:
            assert json.dumps(machine) != before, f"the mutant changes nothing: {self.name}"
        return machine

    def explored(self, most_states: int | None = None) -> Found:
        """Runs the explorer, with pacing broken too if that is the fault."""
        broken = patch(*self.pacing) if self.pacing else nullcontext()
        with broken:
            machine = machine_of(self.definition(), self.scenario)
            return explore(World(machine, self.scenario), most_states)


def condition(state: str, change: Callable[[str], str]) -> Edit:
    def edit(machine: States) -> None:
        arguments = machine[state]["Arguments"]
        arguments["ConditionExpression"] = change(arguments["ConditionExpression"])
        _drop_unused(arguments)

    return edit


def _drop_unused(arguments: dict[str, Any]) -> None:
    """DynamoDB refuses names and values that no expression uses."""
    used = " ".join(str(arguments.get(f"{kind}Expression", "")) for kind in ("Condition", "Update"))
    for words in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        arguments[words] = {
            word: meaning
            for word, meaning in arguments[words].items()
            if re.search(rf"{word}\b", used)
        }


def text(state: str, old: str, new: str) -> Edit:
    """Replaces a part of one of the state's expressions, wherever in the state it stands."""

    def edit(machine: States) -> None:
        text = json.dumps(_on_one_line(machine[state]))
        assert json.dumps(old)[1:-1] in text, f"{state} does not say {old!r} any more"
        machine[state].update(
            json.loads(text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1]))
        )

    return edit


def _on_one_line(value: Any) -> Any:
    """Joins an expression's lines, since its layout makes no difference."""
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, dict):
        return {name: _on_one_line(inner) for name, inner in value.items()}
    return [_on_one_line(inner) for inner in value] if isinstance(value, list) else value


def both(*edits: Edit) -> Edit:
    def edit(machine: States) -> None:
        for one in edits:
            one(machine)

    return edit


def parts(condition: str, word: str) -> list[str]:
    """A condition, split at every AND or OR that stands outside of all brackets."""
    found, depth, begin = [], 0, 0
    for match in re.finditer(rf"[()]|\s{word}\s", condition):
        if match[0] == "(":
            depth += 1
        elif match[0] == ")":
            depth -= 1
        elif not depth:
            found.append(condition[begin : match.start()])
            begin = match.end()
    return [*found, condition[begin:]]


def without_clause(state: str, number: int) -> Edit:
    def change(condition: str) -> str:
        clauses = parts(condition, "OR")
        return " OR ".join(clauses[: number - 1] + clauses[number:])

    return condition(state, change)


def without_guard(state: str, number: int, guard: int) -> Edit:
    def change(condition: str) -> str:
        clauses = parts(condition, "OR")
        inner = clauses[number - 1]
        bare = inner[1:-1] if inner.startswith("(") else inner
        guards = parts(bare, "AND")
        clauses[number - 1] = "(" + " AND ".join(guards[: guard - 1] + guards[guard:]) + ")"
        return " OR ".join(clauses)

    return condition(state, change)


def without_condition(state: str) -> Edit:
    def edit(machine: States) -> None:
        del machine[state]["Arguments"]["ConditionExpression"]
        _drop_unused(machine[state]["Arguments"])

    return edit


def goes(state: str, to: str, error: str | None = None, **assign: Any) -> Edit:
    """Leads a state, or its catch of an error, somewhere else."""

    def edit(machine: States) -> None:
        rules = machine[state].get("Catch", [])
        exits = (
            [rule for rule in rules if error in rule["ErrorEquals"]] if error else [machine[state]]
        )
        assert exits, f"{state} does not catch {error} any more"
        for one in exits:
            one["Next"] = to
            one.setdefault("Assign", {}).update(assign)

    return edit


def rule(state: str, number: int, to: str) -> Edit:
    """Leads one of a Choice's rules somewhere else."""

    def edit(machine: States) -> None:
        machine[state]["Choices"][number - 1]["Next"] = to

    return edit


def default(state: str, to: str) -> Edit:
    """Leads what no rule of a Choice takes somewhere else."""

    def edit(machine: States) -> None:
        machine[state]["Default"] = to

    return edit


def without_rule(state: str, number: int) -> Edit:
    def edit(machine: States) -> None:
        del machine[state]["Choices"][number - 1]

    return edit


def park_after_the_row(machine: States) -> None:
    """The row says PARKED first, and what the row says stands."""
    parked = machine["ParkEvent"].pop("Assign")
    machine["JudgeFailure"]["Choices"][0] |= {"Next": "CloseClaim", "Assign": parked}
    machine["EndUnacted"]["Choices"][0]["Next"] = "ParkEvent"
    for exit_to in (machine["ParkEvent"], *machine["ParkEvent"]["Catch"]):
        exit_to["Next"] = "Parked"


def kept_by_the_put(machine: States) -> None:
    """Keeps of the continued occurrence only what a bare put knows: the row that it replaced."""
    blind(machine)
    claim = machine["ClaimKey"]
    kept = (
        "( $row := $states.result.Attributes; $exists($row) and $row.status.S != 'DONE' and"
        " $number($row.event_time.N) >= $states.input.claim.atMs - $states.input.claim.spanMs ?"
        " $number($row.occurrence.N) : $states.input.claim.occurrenceMs )"
    )
    claim["Assign"]["sentKey"] = claim["Assign"]["sentKey"].replace(
        "$occurrenceMs := $states.input.claim.occurrenceMs", f"$occurrenceMs := {kept}"
    )
    claim["Assign"]["claim"] = f"{{% $merge([$states.input.claim, {{'occurrenceMs': {kept}}}]) %}}"


blind = condition(
    "ClaimKey", lambda condition: re.sub(r" AND #owner = :(seen|released)", "", condition)
)


def expiry_in_milliseconds(machine: States) -> None:
    values = machine["ClaimKey"]["Arguments"]["ExpressionAttributeValues"]
    values[":now_s"] = values[":now"]


def no_edit(_: States) -> None:
    """Changes nothing: the fault is in pacing, or in what the scenario fills in."""
