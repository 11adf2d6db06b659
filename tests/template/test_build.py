"""A function imports what Lambda's runtime brings, and its own package."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from proof.definition.asl import ROOT

# Beside Python itself: docs.aws.amazon.com/lambda, "Building Lambda functions with Python". Nothing
# for the enrichment, which users import as a library.
IMPORTED = {"enrichment": set[str](), "data_action": {"boto3", "botocore"}}


def imported_packages(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("name", IMPORTED)
def test_function_imports_nothing_that_lambda_lacks(name: str) -> None:
    folder = ROOT / "functions" / name
    assert (folder / "requirements.txt").read_text() == ""
    files = [*folder.rglob("*.py")]
    imported = {package for file in files for package in imported_packages(file)}
    imported = {package for package in imported if not package.startswith("mypy_")}  # only types
    assert imported <= sys.stdlib_module_names | IMPORTED[name] | {f"once_{name}"}
