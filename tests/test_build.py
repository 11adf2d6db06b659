"""Each built function imports with only its own folder and boto3."""

import json
import os
import platform
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from once.local import builds
from proof.definition.asl import ROOT
from tests.test_template import RESOURCES

# What the Lambda runtime brings along: boto3 and what it stands on.
RUNTIME_PACKAGES = ("boto3", "botocore", "s3transfer", "jmespath", "dateutil", "six.py", "urllib3")
FUNCTIONS = {
    name: body["Properties"]["Handler"]
    for name, body in RESOURCES.items()
    if body["Type"] == "AWS::Serverless::Function"
}
IMPORT = """
import importlib, json, sys
sys.path = json.loads(sys.argv[1])
importlib.import_module(sys.argv[2])
"""


@pytest.fixture(scope="module")
def build_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("build")
    machine = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    bin_folder = Path(sys.executable).parent
    done = subprocess.run(
        [
            str(bin_folder / "sam"),
            "build",
            f"--template={ROOT / 'template.yaml'}",
            f"--build-dir={folder}",
            f"--cache-dir={folder / 'cache'}",
            "--parameter-overrides",
            f"PythonRuntime={python} Architecture={machine}",
        ],
        env={**os.environ, "SAM_CLI_TELEMETRY": "0", "PATH": f"{bin_folder}:{os.environ['PATH']}"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def runtime_packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runtime")
    site = Path(sysconfig.get_path("purelib"))
    for name in RUNTIME_PACKAGES:
        (folder / name).symlink_to(site / name)
    return folder


@pytest.mark.local
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_built_function_imports_with_nothing_but_its_folder_and_boto3(
    function: str, build_folder: Path, runtime_packages: Path
) -> None:
    standard_library = [sysconfig.get_path("stdlib"), sysconfig.get_config_var("DESTSHARED")]
    path = [*standard_library, str(build_folder / function), str(runtime_packages)]
    module = FUNCTIONS[function].rsplit(".", 1)[0]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", IMPORT, json.dumps(path), module],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.local
@pytest.mark.skipif(sys.platform != "linux", reason="wheels are kept on Linux only")
def test_a_later_build_takes_its_wheels_from_the_first(tmp_path: Path) -> None:
    kept = builds.settings_of_pip(ROOT, os.environ, tmp_path / "pip.log")
    unreachable = {"PATH": os.defpath, "PIP_INDEX_URL": "http://127.0.0.1:9/simple"}
    wanted = ["--target", str(tmp_path), "-r", "functions/enrichment/requirements.txt"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", *wanted],
        env={**unreachable, "PIP_CONFIG_FILE": os.devnull, **kept},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "pydantic").is_dir()
