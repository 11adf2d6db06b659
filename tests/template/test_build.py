"""Each built function imports with only its own folder and boto3."""

import json
import os
import platform
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from proof.definition.asl import ROOT
from proof.template import of_type

# What the Lambda runtime brings along: boto3 and what it stands on.
RUNTIME_PACKAGES = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six.py", "urllib3")
FUNCTIONS = {
    name: body["Properties"]["Handler"]
    for name, body in of_type("AWS::Serverless::Function").items()
}
IMPORT = """
import importlib, json, sys
sys.path = json.loads(sys.argv[1])
importlib.import_module(sys.argv[2])
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the functions for the Python and the processor of this machine."""
    folder = tmp_path_factory.mktemp("build")
    machine = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    text = (ROOT / "template.yaml").read_text()
    text = re.sub(r"(?m)^    Runtime: .+$", f"    Runtime: {python}", text)
    text = re.sub(r"(?m)^    Architectures: .+$", f"    Architectures: [{machine}]", text)
    template = folder / "template.yaml"
    template.write_text(text)
    bin_folder = Path(sys.executable).parent
    done = subprocess.run(
        [
            *(str(bin_folder / "sam"), "build", f"--template={template}", f"--base-dir={ROOT}"),
            *(f"--build-dir={folder / 'build'}", f"--cache-dir={folder / 'cache'}"),
        ],
        env={**os.environ, "SAM_CLI_TELEMETRY": "0", "PATH": f"{bin_folder}:{os.environ['PATH']}"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "build"


@pytest.mark.local
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_built_function_imports_with_nothing_but_its_folder_and_boto3(
    function: str, built: Path, tmp_path: Path
) -> None:
    site = Path(sysconfig.get_path("purelib"))
    for name in RUNTIME_PACKAGES:
        (tmp_path / name).symlink_to(site / name)
    standard_library = [sysconfig.get_path("stdlib"), sysconfig.get_config_var("DESTSHARED")]
    path = [*standard_library, str(built / function), str(tmp_path)]
    module = FUNCTIONS[function].rsplit(".", 1)[0]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", IMPORT, json.dumps(path), module],
        env={**os.environ, "AWS_DEFAULT_REGION": "eu-central-1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
