"""Ways to break the state machine, each an edit of its definition, and each to be caught.

A clause is one of the alternatives of a condition; a guard is one of the parts of a clause.
"""

import copy
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proof.definition.asl import SUBSTITUTIONS, definition, states
from proof.explorer.scenario import Scenario

States = dict[str, dict[str, Any]]
Edit = Callable[[States], None]


@dataclass(frozen=True)
class Mutant:
    name: str
    edit: Edit
    scenario: Scenario

    def definition(self) -> dict[str, Any]:
        machine = definition({**SUBSTITUTIONS, **self.scenario.substitutions})
        before = json.dumps(machine)
        self.edit(states(machine))
        changed = json.dumps(machine) != before or self.scenario.substitutions
        assert changed, f"the mutant changes nothing: {self.name}"
        return machine


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
        text = json.dumps(machine[state])
        assert json.dumps(old)[1:-1] in text, f"{state} does not say {old!r} any more"
        machine[state].update(
            json.loads(text.replace(json.dumps(old)[1:-1], json.dumps(new)[1:-1]))
        )

    return edit


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


def park_after_the_row(error: str, park: str, mark: str) -> Edit:
    """The row says PARKED first, in a state of its own, and what the row says stands."""

    def edit(machine: States) -> None:
        lane = machine["SettleLanes"]["ItemProcessor"]["States"]
        lane["MarkFirst"] = {**copy.deepcopy(machine[mark]), "Next": park}
        goes("RunAction", "MarkFirst", error)(machine)
        goes(park, "NoteOutcome")(machine)
        goes(park, "NoteOutcome", "States.ALL")(machine)
        for catch in machine[park]["Catch"]:
            del catch["Assign"]

    return edit


def kept_by_the_put(machine: States) -> None:
    """What a bare put can know of the occurrence it continues: what the put says it replaced."""
    blind(machine)
    claim = machine["ClaimKey"]
    claim["Arguments"]["ReturnValues"] = "ALL_OLD"
    claim["Assign"]["occurrenceMs"] = (
        "{% ( $row := $states.result.Attributes; $exists($row) and $row.status.S != 'DONE' and"
        " $number($row.event_time.N) >= $earlierMs ? $number($row.occurrence.N) : $occurrenceMs )"
        " %}"
    )


blind = condition("ClaimKey", lambda condition: condition.replace(" AND #owner = :seen", ""))


def expiry_in_milliseconds(machine: States) -> None:
    values = machine["ClaimKey"]["Arguments"]["ExpressionAttributeValues"]
    values[":now_s"] = values[":now"]


def no_edit(_: States) -> None:
    """For a mutant whose fault is in what its scenario fills in."""
