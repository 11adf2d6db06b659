"""Imports go one way: what is deployed knows nothing of what operates it, describes it in schemas,
proves it or measures it. Within `once/` there are walls as well: running locally, the stand-in
Genesys, operating a stack, auditing."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OURS = ("functions", "schemas", "once", "proof", "tests", "bench")

# A folder, and the folders that it may import from besides itself.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "functions/enrichment": (),
    "functions/data_action": (),
    "functions/pacing": (),
    "once": ("functions",),
    "schemas": ("functions", "once"),
    "proof": ("functions", "schemas", "once"),
}

# A package of `once/`, and the packages it may import from besides itself. All may import the
# modules that lie in `once/` itself; those import from no package.
WITHIN_ONCE: dict[str, tuple[str, ...]] = {
    "": (),
    "examples": (),
    "local": (),
    "genesys": (),
    "routes": (),
    "operate": ("local", "genesys", "routes"),
    "console": ("operate",),
    "run": ("local", "genesys", "operate", "console"),
    "audit": (),
}


def imports(folder: str) -> Iterator[tuple[Path, str]]:
    """Yields each file below a folder with each module it imports."""
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                for name in node.names:
                    yield file, name.name
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for name in node.names:
                    yield file, f"{node.module}.{name.name}"


def _room_of(module: str) -> str | None:
    first = module.split(".")[0]
    function = first.removeprefix("once_")
    if (ROOT / "functions" / function).is_dir():
        return f"functions/{function}"
    return first if first in OURS else None


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_from_those_before_it(room: str) -> None:
    unexpected = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file, module in imports(room)
        if (target := _room_of(module)) not in (None, room)
        and target.split("/")[0] not in MAY_IMPORT[room]
    ]
    assert unexpected == []


def test_every_function_has_its_walls() -> None:
    functions = {f"functions/{one.name}" for one in (ROOT / "functions").iterdir() if one.is_dir()}
    assert functions == {room for room in MAY_IMPORT if room.startswith("functions/")}


def _package_of(*parts: str) -> str:
    """The package of `once/` in which a file or module lies; "" for `once/` itself."""
    first = parts[1] if len(parts) > 1 else ""
    return first if (ROOT / "once" / first).is_dir() else ""


@cache
def imports_of_once() -> list[tuple[Path, str]]:
    return list(imports("once"))


@pytest.mark.parametrize("package", WITHIN_ONCE)
def test_a_package_of_once_imports_only_from_those_before_it(package: str) -> None:
    unexpected = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file, module in imports_of_once()
        if _package_of(*file.relative_to(ROOT).parts) == package
        and _room_of(module) == "once"
        and _package_of(*module.split(".")) not in ("", package, *WITHIN_ONCE[package])
    ]
    assert unexpected == []


def test_the_packages_of_once_stand_in_an_order() -> None:
    packages = list(WITHIN_ONCE)
    assert {"", *(file.parent.name for file in (ROOT / "once").glob("*/*.py"))} == set(packages)
    for package, others in WITHIN_ONCE.items():
        assert all(packages.index(other) < packages.index(package) for other in others), package
