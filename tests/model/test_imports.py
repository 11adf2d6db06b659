"""Imports go one way: in once/ from room to room, and outside from what is deployed to what proves
and measures it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ONCE = ROOT / "once"
# A room of once/, and those that it may import from besides itself; the modules of once/ itself are
# open to all. No command imports another, and no other room imports one.
ROOMS: dict[str, set[str]] = {
    "model": set(),
    "stack": {"model"},
    "genesys": set(),
    "local": {"model", "stack", "genesys"},
    "audit": {"model"},
    "routes": {"model"},
    "console": {"model", "stack"},
    "commands": {"model", "stack", "local", "genesys"},
}
ALSO = {"commands/dev.py": {"console"}}
# What is deployed knows nothing of what operates, describes, proves or measures it.
FOLDERS: dict[str, set[str]] = {
    "functions/enrichment": set(),
    "functions/data_action": set(),
    "once": {"once_enrichment", "once_data_action"},
    "schemas": {"once_enrichment", "once_data_action", "once"},
    "proof": {"once_enrichment", "once_data_action", "once", "schemas"},
}
OURS = {"once_enrichment", "once_data_action", "once", "schemas", "proof", "tests", "bench"}


def read_imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def find_room(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "once" and len(parts) > 1 and parts[1] in ROOMS else None


def test_each_folder_of_once_is_a_room() -> None:
    assert {path.parent.name for path in ONCE.glob("*/*.py")} - {"examples"} == ROOMS.keys()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_from_those_before_it(room: str) -> None:
    for file in ONCE.glob(f"{room}/*.py"):
        allowed = ROOMS[room] | ALSO.get(f"{room}/{file.name}", set()) | {room}
        modules = [*read_imports(file)]
        assert {*map(find_room, modules)} - {None} <= allowed, file
        packages = {module.split(".")[0] for module in modules}
        assert room != "model" or not packages & {"boto3", "botocore", "rich", "click"}
        if room == "commands":
            assert not [m for m in modules if m.startswith("once.commands.")], file


@pytest.mark.parametrize("file", [*ONCE.glob("*.py")], ids=lambda file: file.name)
def test_a_module_of_once_itself_imports_no_command(file: Path) -> None:
    rooms = {*map(find_room, read_imports(file))} - {None}
    assert rooms <= ({"stack"} if file.name == "cli_options.py" else set())


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_from_those_before_it(folder: str) -> None:
    own = {folder.replace("functions/", "once_")}
    for file in (ROOT / folder).rglob("*.py"):
        ours = {module.split(".")[0] for module in read_imports(file)} & OURS
        assert ours <= FOLDERS[folder] | own, file
