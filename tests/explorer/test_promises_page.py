"""docs/promises.md and the explorer's own page name tests that exist, and every promise."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import recorded
from proof.explorer.liveness import ENDLESSLY
from proof.explorer.mutant_list import IMPLIED, MUTANTS
from proof.scenarios.scenario import CASES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text("utf-8")
EXPLORER = (ROOT / "proof" / "explorer" / "README.md").read_text("utf-8")
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE + EXPLORER)
SITUATIONS = {path.stem for path in CASES.glob("*.yaml")}
BROKEN = {mutant.name for mutant in MUTANTS} - IMPLIED.keys()
PROMISED, NOT_PROMISED = PAGE.split("\n## ")[1:3]


def rows(section: str) -> list[list[str]]:
    """Reads the cells of a table, without its heading."""
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines][1:]


ROWS = rows(EXPLORER.split("\n## ")[1])


@pytest.mark.parametrize(("path", "test"), NAMED)
def test_a_test_that_the_page_names_exists(path: str, test: str) -> None:
    module = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    assert test in {node.name for node in module.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_each_promise_is_held_by_a_broken_machine_a_situation_or_a_test(row: list[str]) -> None:
    _, _, broken, situation = row
    assert {*re.findall(r"`([^`]+)`", broken)} <= BROKEN
    assert "`" in broken + situation
    assert {*re.findall(r"`([^`]+)`", situation)} <= {*SITUATIONS, *map("::".join, NAMED)}


@pytest.mark.parametrize("row", rows(PROMISED), ids=lambda row: row[0][:40])
def test_each_promise_to_users_names_situations_or_tests(row: list[str]) -> None:
    named = re.findall(r"`([^`]+)`", row[1])
    assert named
    assert {*named} <= {*SITUATIONS, *map("::".join, NAMED)}


def test_every_point_that_is_not_promised_names_a_situation_or_a_test() -> None:
    for point in NOT_PROMISED.split("\n- ")[1:]:
        assert SITUATIONS & {*re.findall(r"`([^`]+)`", point)} or ".py::test_" in point, point


def test_the_recorded_run_broke_no_promise() -> None:
    """The hash of the record says if it belongs to this definition."""
    run = recorded.read("explorer")
    assert run["broken"] == []
    assert run["mutantsMissed"] == []
    assert run["walks"]["disagreements"] == []


def complaints() -> Iterator[str]:
    """Yields each complaint of the explorer, with … for the parts that it fills in."""
    for module in ("liveness", "promises", "world"):
        text = (ROOT / "proof" / "explorer" / f"{module}.py").read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Broken":
                yield "".join(_literal(node.args[0]))
    yield f"…{ENDLESSLY}"


def _literal(text: ast.expr) -> Iterator[str]:
    for part in text.values if isinstance(text, ast.JoinedStr) else [text]:
        yield str(part.value) if isinstance(part, ast.Constant) else "…"


@pytest.mark.parametrize("words", sorted(complaints()))
def test_every_promise_of_the_explorer_is_on_the_page(words: str) -> None:
    assert words in {row[1].strip("`") for row in ROWS}
