"""Lints the state machine: how it is laid out, and as AWS will see it, placeholders filled in."""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

from proof.asl.definition import check
from proof.asl.jsonata import (
    Clock,
    Engine,
    Library,
    QueryError,
    Reference,
    ReferenceMissingError,
)
from proof.definition.asl import ASL_PATH, definition, states, strings

MOST_CHARACTERS = 110
# More belongs into one of the functions; these two write what cannot be computed there.
MOST_EXPRESSION_LINES = 8
LONG_EXPRESSIONS = {"ReadClaim", "RecordOutcome"}

# What statelint says and we disagree with, each with the reason.
STATELINT_EXCEPTIONS = {
    # A JSONata state may compute its wait, which statelint does not know.
    '[$claim.looks - 1] %}" but should be an Integer',
    '[$waits - 1] %}" but should be an Integer',
    # A retrier that never retries is how AWS's page on errors excludes one from the next.
    "MaxAttempts is 0 but allowed floor is 0",
}


def layout(text: str) -> Iterator[str]:
    """Finds what makes the file hard to read."""
    for number, line in enumerate(text.splitlines(), start=1):
        if len(line) > MOST_CHARACTERS:
            yield f"line {number} has {len(line)} characters, more than {MOST_CHARACTERS}"
        if line != line.rstrip():
            yield f"line {number} ends in blanks"


def expressions_too_long(text: str) -> Iterator[str]:
    """Finds expressions that hold too much of the logic, and regular expressions."""
    for found in re.finditer(r"\{%.*?%\}", text, re.DOTALL):
        before = text[: found.start()]
        name = re.findall(r"^  (\w+):$", before, re.MULTILINE)[-1]
        number, lines = before.count("\n") + 1, found[0].count("\n") + 1
        if lines > MOST_EXPRESSION_LINES and name not in LONG_EXPRESSIONS:
            yield f"line {number}, {name}: an expression of {lines} lines"
        if re.search(r"[(,]\s*/[^/ ]", found[0]):
            yield f"line {number}, {name}: a regular expression"


def uncommented(machine: Mapping[str, Any]) -> Iterator[str]:
    """Finds states that do not say why they are there."""
    for name, state in states(machine).items():
        if "Comment" not in state:
            yield f"{name} has no Comment"


def retries(machine: Mapping[str, Any]) -> Iterator[str]:
    """There are no anchors, so blocks that mean the same are held equal here."""
    seen: dict[str, tuple[str, Any]] = {}
    for name, state in states(machine).items():
        if state["Type"] != "Task" or "Retry" not in state:
            continue
        kind = state["Resource"].split(":")[-2] + (
            " with a condition" if "ConditionExpression" in state["Arguments"] else ""
        )
        # The completion write has one retry more, since nothing leads back from there.
        block = json.dumps(state["Retry"]).replace('"MaxAttempts": 3', '"MaxAttempts": 2')
        first, known = seen.setdefault(kind, (name, block))
        if block != known:
            yield f"{name} retries otherwise than {first}"


def expressions(machine: Mapping[str, Any]) -> set[str]:
    return {
        re.sub(r"^\{%|%\}$", "", text).strip()
        for text in strings(machine)
        if text.startswith("{%") and text.endswith("%}")
    }


def unparsed(machine: Mapping[str, Any]) -> Iterator[str]:
    """Every expression parses in both engines; in one where the reference is not installed."""
    with ExitStack() as stack:
        engines: list[Engine] = [Library()]
        try:
            engines.append(stack.enter_context(Reference()))
        except ReferenceMissingError as missing:
            print(f"jsonata: {missing}")
        for engine, text in product(engines, sorted(expressions(machine))):
            try:
                # As the body of a function, which is parsed and not called.
                engine.evaluate(f"$type(function() {{ ({text}) }})", {}, Clock(0))
            except QueryError as error:
                yield f"{type(engine).__name__}: {error} in {text}"


def statelint(as_json: str) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "once.asl.json")
        path.write_text(as_json)
        command = [str(Path(sys.executable).parent / "statelint"), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines()]
    return [
        line
        for line in lines
        if line
        and not line.endswith(("error:", "errors:"))
        and not any(line.endswith(exception) for exception in STATELINT_EXCEPTIONS)
    ]


def main() -> int:
    machine, text = definition(), ASL_PATH.read_text("utf-8")
    check(machine)  # raises if a field or a target is not there
    found = {
        "layout": [*layout(text), *expressions_too_long(text), *uncommented(machine)],
        "retries": list(retries(machine)),
        "jsonata": list(unparsed(machine)),
        "statelint": statelint(json.dumps(machine)),
    }
    for linter, lines in found.items():
        print(f"{linter}: {len(lines) or 'no'} findings in {ASL_PATH.name}", *lines, sep="\n  ")
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(main())
