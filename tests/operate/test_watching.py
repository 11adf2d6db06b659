"""The Nagios plugin of docs/operations.md, with a `once` that answers what it is told."""

import json
import os
import re
import shutil
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import pytest

from once.project import ROOT

pytestmark = pytest.mark.skipif(shutil.which("jq") is None, reason="the plugin needs jq")


def finding(severity: str) -> dict[str, Any]:
    return {"severity": severity, "code": "EVENTS_PARKED", "sentence": "Parked: 2 events"}


@pytest.mark.parametrize(
    ("code", "said", "ends", "prints"),
    [
        (0, {"findings": []}, 0, "OK"),
        (3, {"findings": [finding("ticket")]}, 1, "ticket EVENTS_PARKED: Parked: 2 events"),
        (3, {"findings": [finding("ticket"), finding("page")]}, 2, "page EVENTS_PARKED"),
        (1, {"error": "The credentials have expired.", "exitCode": 1}, 3, "UNKNOWN: The cred"),
    ],
)
def test_the_plugin_ends_as_nagios_expects(
    tmp_path: Path, code: int, said: dict[str, Any], ends: int, prints: str
) -> None:
    page = (ROOT / "docs/operations.md").read_text("utf-8")
    found = re.search(r"^    #!/bin/sh\n(?:    .*\n)+", page, re.MULTILINE)
    assert found
    plugin, once = tmp_path / "plugin", tmp_path / "once"
    plugin.write_text(textwrap.dedent(found[0]))
    once.write_text(f"#!/bin/sh\ncat <<'EOF'\n{json.dumps(said)}\nEOF\nexit {code}\n")
    for program in (plugin, once):
        program.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [plugin, "live"], env={"PATH": path}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, prints in done.stdout) == (ends, True), (done.stdout, done.stderr)
