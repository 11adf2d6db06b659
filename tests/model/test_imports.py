"""Rooms of once/ import in one direction."""

import ast
from pathlib import Path

import pytest

ONCE = Path(__file__).parents[2] / "once"
ROOMS = {"model": {"model"}, "stack": {"model", "stack"}, "commands": {"model", "stack", "local",
         "genesys", "run", "console"}}  # fmt: skip


@pytest.mark.parametrize("file", [file for room in ROOMS for file in ONCE.glob(f"{room}/*.py")])
def test_a_room_imports_no_room_above_it(file: Path) -> None:
    nodes = ast.walk(ast.parse(file.read_text("utf-8")))
    modules = [n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module]
    rooms = {module.split(".")[1] for module in modules if module.startswith("once.")}
    forbidden = {path.name for path in ONCE.iterdir() if path.is_dir()} - ROOMS[file.parent.name]
    assert rooms & forbidden == set()
    assert file.parent.name != "model" or "boto3" not in modules
