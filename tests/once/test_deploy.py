"""Wrong settings are refused before a build of the template begins."""

from pathlib import Path
from typing import Any

import pytest

from once.errors import OnceError
from once.local.deploy import _useful_part, deploy
from once.project import TEMPLATE


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[[routes]]\nfamily = "*"\n', r"routes\.1\.action"),
        (None, r"no file of routes .*mine\.toml"),
    ],
)
def test_faulty_routes_are_refused_before_a_build(
    text: str | None, says: str, tmp_path: Path
) -> None:
    (tmp_path / "template.yaml").write_bytes(TEMPLATE.read_bytes())
    (tmp_path / "functions/enrichment").mkdir(parents=True)
    if text is not None:
        (tmp_path / "functions/enrichment/mine.toml").write_text(text)
    aws: Any = None
    with pytest.raises(OnceError, match=says):
        deploy(aws, tmp_path / "template.yaml", {"RoutesFile": "mine.toml"})


def test_a_build_that_finds_no_package_names_the_index(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(
        "Building codeuri\nBuild Failed\nError: Could not satisfy the requirement: x==1\n"
    )
    said = _useful_part(log)
    assert said.startswith("Build Failed\n")
    assert "PIP_INDEX_URL" in said
