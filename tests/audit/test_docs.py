"""CloudFormation accepts the templates that docs/audit.md tells people to deploy."""

from pathlib import Path

import pytest
from cfnlint import lint_file

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = sorted((DOCS / "examples").glob("capture-*.yaml"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_a_capture_passes_the_linter_and_is_named_in_the_docs(example: Path) -> None:
    assert [str(match) for match in lint_file(example)] == []
    assert f"examples/{example.name}" in (DOCS / "audit.md").read_text()


def test_there_are_captures_to_lint() -> None:
    assert len(EXAMPLES) == 2
