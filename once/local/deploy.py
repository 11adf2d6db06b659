"""Runs the real `sam build` and `sam deploy` of the project's template against an emulator.

Only what has changed is downloaded and built again: the cache has the wheels of the functions'
requirements, and what `sam build` made. `sam build --cached` would not do: it starts the SAM CLI
all the same, which is nearly all its time.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from once.errors import OnceError
from once.local import child
from once.local.aws import Emulator, inherited_environment
from once.project import ROUTES, TEMPLATE, cache_folder, read_routes

STACK_NAME = "once"
BUCKET = "once-artifacts"
# On AWS partner events come on a bus of their own; here they may come on the bus default.
LOCAL_PARAMETERS = {"SourcePrefix": "aws.partner/"}
# In place of the template's, in seconds, and in the same order. What waits for one of them here
# waits for less. The lease has room for the start of a function on a busy machine, which the
# emulator does not count as part of the function's time.
DURATIONS: dict[str, Any] = {
    "Call": 4,
    "Action": 13,
    "Machine": 26,
    "Begin": 10,
    "Lease": 60,
    "Enrichment": 13,
    "Visibility": 104,
    "Waits": "1, 1, 3",
    "Pace": "0.1",
}
_UNUSED_SECONDS = 24 * 3600
_USEFUL_LINES = 25
_WITHOUT_INDEX = (
    "The first build takes packages from PyPI, or from the index in PIP_INDEX_URL. Can this "
    "machine reach it?"
)
_OF_PIP = ("PIP_", "SSL_", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY")
# Where sam's log comes to the point.
_FAILURE = re.compile(r"^(Error\b|Build Failed|Traceback)|_FAILED\b")


def deploy(
    aws: Emulator, parameters: Mapping[str, str], step: Callable[[str], None]
) -> dict[str, str]:
    """Builds and deploys the template with short durations, for this Python and processor, and
    returns its outputs."""
    routes = ROUTES.with_name(parameters.get("RoutesFile", ROUTES.name))
    if not routes.is_file():
        raise OnceError(f"There is no file of routes {routes}.")
    read_routes(routes)
    template = fit_to_machine()
    # sam itself passes over a parameter that the template does not have.
    known = sorted(template["Parameters"])
    for name in parameters:
        if name not in known:
            raise OnceError(f"{TEMPLATE.name} has no parameter {name}. It has {', '.join(known)}.")
    step("building (sam build)")
    sam, fitted = _Sam(aws), json.dumps(template)

    def build(folder: Path) -> None:
        # JSON: `sam deploy` reads the template seven times, in a tenth of the time of YAML.
        source = aws.root / "template.yaml"
        source.write_text(fitted)
        sam(
            "build",
            *("--template-file", str(source), "--build-dir", str(folder)),
            *("--base-dir", str(TEMPLATE.parent), "--parallel"),
        )
        written = folder / "template.yaml"
        written.write_text(json.dumps(_parse(written)))

    built = find_build(fitted, aws.root, build) / "template.yaml"

    step("deploying (sam deploy)")
    s3 = aws.client("s3")
    s3.create_bucket(
        Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": s3.meta.region_name}
    )
    sam(
        "deploy",
        *("--template-file", str(built), "--stack-name", STACK_NAME),
        *("--s3-bucket", BUCKET, "--capabilities", "CAPABILITY_IAM", "--no-progressbar"),
        *("--no-confirm-changeset", "--on-failure", "DO_NOTHING"),
        parameters={**LOCAL_PARAMETERS, **parameters},
    )
    (stack,) = aws.client("cloudformation").describe_stacks(StackName=STACK_NAME)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def fit_to_machine() -> dict[str, Any]:
    """Returns the template with what must fit this machine rather than AWS: durations, the Python
    and processor of the functions, and paths, since it is built from a file elsewhere."""
    parsed = _parse(TEMPLATE)
    parsed["Mappings"]["Durations"]["Seconds"] |= DURATIONS
    machine = platform.machine().lower()
    runtime = {
        "Runtime": f"python{sys.version_info.major}.{sys.version_info.minor}",
        "Architectures": ["arm64" if machine in ("arm64", "aarch64") else "x86_64"],
    }
    parsed["Globals"]["Function"] |= runtime
    for resource in parsed["Resources"].values():
        properties = resource.get("Properties", {})
        for name in ("CodeUri", "DefinitionUri"):
            if name in properties:
                properties[name] = str(TEMPLATE.parent / properties[name])
    return parsed


def _parse(template: Path) -> dict[str, Any]:
    from samcli.yamlhelper import yaml_parse

    parsed: dict[str, Any] = yaml_parse(template.read_text("utf-8"))
    return parsed


class _Sam:
    def __init__(self, aws: Emulator) -> None:
        self._folder = aws.root / "sam"
        self._folder.mkdir(exist_ok=True)
        # Without a recent check sam asks the package index for a newer version of itself.
        (self._folder / "metadata.json").write_text(
            json.dumps(
                {
                    "installationId": str(uuid.uuid4()),
                    "telemetryEnabled": False,
                    "lastVersionCheck": time.time(),
                }
            )
        )
        # The user's samconfig.toml names the stack and bucket of a real deployment.
        self._config = self._folder / "samconfig.toml"
        self._config.write_text("version = 0.1\n")
        self._environment = {
            # How this machine reaches a package index.
            **{k: v for k, v in os.environ.items() if k.upper().startswith(_OF_PIP)},
            **aws.environment(),
            "PATH": f"{Path(sys.executable).parent}:{inherited_environment().get('PATH', '')}",
            "TMPDIR": str(self._folder),
            "SAM_CLI_TELEMETRY": "0",
            "__SAM_CLI_APP_DIR": str(self._folder),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "COLUMNS": "160",
        }
        self._environment |= settings_of_pip(self._environment, self._folder / "pip.log")

    def __call__(
        self, command: str, *arguments: str, parameters: Mapping[str, str] | None = None
    ) -> None:
        quoted = {}
        for name, value in (parameters or {}).items():
            if "\\" in value:
                raise OnceError(f"--set {name}: sam cannot pass a value with a backslash in it.")
            # sam removes a pair of quotes around a value, and reads backslashes.
            escaped = value.replace('"', '\\"')
            quoted[name] = f'"{escaped}"'
        # In a file, since a value may be secret and other users can read arguments.
        if quoted:
            overrides = self._folder / f"{command}.parameters.yaml"
            overrides.touch(0o600)
            overrides.write_text(json.dumps(quoted))  # JSON is YAML, too
            arguments += ("--parameter-overrides", f"file://{overrides}")
        log = self._folder / f"{command}.log"
        process = child.start(
            "samcli",
            *(command, "--config-file", str(self._config), *arguments),
            env=self._environment,
            log=log,
        )
        try:
            code = process.wait()
        finally:
            child.stop(process)
        if code != 0:
            raise OnceError(f"sam {command} failed (exit code {code}):\n{_useful_part(log)}")


def _useful_part(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    lines = [line for line in lines if line.strip("-=")]
    first = next((at for at, line in enumerate(lines) if _FAILURE.search(line)), 0)
    text = "\n".join(lines[first:][-_USEFUL_LINES:])
    return f"{text}\n{_WITHOUT_INDEX}" if "Could not satisfy the requirement" in text else text


def find_build(fitted: str, scratch: Path, build: Callable[[Path], None]) -> Path:
    """Returns the folder with the built template; `build` fills one that is given to it.

    The build depends on the functions and on `fitted`, the text that is made of the template.
    """
    files = sorted((TEMPLATE.parent / "functions").rglob("*"))
    content = [(str(f), f.read_bytes()) for f in files if f.is_file() and f.suffix != ".pyc"]
    kept = _place("builds", (str(TEMPLATE), fitted, content), version("aws-sam-cli"))
    with suppress(OSError):  # a folder that cannot be written
        if not kept.is_dir():
            # The built template names the state machine by where it lies itself.
            _keep(kept, lambda folder: build(folder / "build"))
            for other in kept.parent.iterdir():
                with suppress(FileNotFoundError):  # another run's, complete by now or tidied up
                    if time.time() - other.stat().st_mtime > _UNUSED_SECONDS:
                        shutil.rmtree(other, ignore_errors=True)
        os.utime(kept)
        return kept / "build"
    build(scratch / "build")
    return scratch / "build"


def settings_of_pip(environment: Mapping[str, str], log: Path) -> dict[str, str]:
    """Returns what makes pip take its wheels from here; nothing if they are not to be had."""
    # Elsewhere sam wants wheels for Linux, which are others than pip would fetch there.
    if sys.platform != "linux":
        return {}
    requirements = sorted(TEMPLATE.parent.glob("functions/*/requirements.txt"))
    wanted = [path.read_text() for path in requirements]
    kept = _place("wheels", wanted, sys.version_info[:2], platform.machine())

    def download(folder: Path) -> None:
        named = [part for path in requirements for part in ("--requirement", str(path))]
        pip = child.start(
            "pip",
            *("download", "--only-binary=:all:", "--dest", str(folder), *named),
            env=environment,
            log=log,
            remove=folder,
        )
        try:
            if pip.wait() != 0:
                raise OSError("pip found no wheels")
        finally:
            child.stop(pip)

    with suppress(OSError):  # no index, or a folder that cannot be written
        if not kept.is_dir():
            _keep(kept, download)
        # As an address: pip reads the variable as a list that spaces divide.
        return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": kept.as_uri()}
    return {}


def _place(kind: str, *made_of: object) -> Path:
    return cache_folder() / kind / hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]


def _keep(kept: Path, fill: Callable[[Path], None]) -> None:
    """Fills a folder, whole or not at all; one that another run has filled meanwhile stays."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    complete = Path(tempfile.mkdtemp(dir=kept.parent))
    try:
        fill(complete)
        try:
            os.replace(complete, kept)
        except OSError:
            if not kept.is_dir():
                raise
    finally:
        shutil.rmtree(complete, ignore_errors=True)
