"""CloudFormation accepts the templates that docs/audit.md tells people to deploy."""

from pathlib import Path

import pytest
from cfnlint import lint_file

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", ["capture-firehose.yaml", "capture-log-group.yaml"])
def test_a_capture_passes_the_linter_and_is_named_in_the_docs(name: str) -> None:
    assert [str(match) for match in lint_file(DOCS / "examples" / name)] == []
    assert f"examples/{name}" in (DOCS / "audit.md").read_text()
