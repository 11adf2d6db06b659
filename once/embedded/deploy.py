"""The real `sam build` and `sam deploy`, run against an embedded AWS, or another one."""

import json
import os
import platform
import re
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from once.embedded import builds, child, wheels
from once.embedded.aws import inherited_environment
from once.errors import OnceError

STACK_NAME = "once"
_BUCKET = "once-artifacts"
_USEFUL_LINES = 25
# Where sam's log comes to the point.
_FAILURE = re.compile(r"^(Error\b|Build Failed|Traceback)|_FAILED\b")


class Target(Protocol):
    """An AWS to deploy to, and a folder of our own to build in."""

    @property
    def root(self) -> Path: ...

    def client(self, service: str) -> Any: ...

    def environment(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class Stack:
    """A deployed stack: its name, what was built, its outputs and how long each step took."""

    name: str
    built: Path
    outputs: Mapping[str, str]
    build_seconds: float
    deploy_seconds: float


def deploy(
    aws: Target,
    template: Path,
    parameters: Mapping[str, str],
    step: Callable[[str], None] = lambda _: None,
    *,
    name: str = STACK_NAME,
    bucket: str | None = None,
) -> Stack:
    """Build and deploy `template` with Timing=fast and this Python; `parameters` win over both.

    A stack that is there already is changed, as on AWS. A bucket that is named must be there.
    """
    _check_names(template, parameters)
    step("building (sam build)")
    started = time.monotonic()
    chosen = {**local_parameters(), **parameters}
    of_build = {name: chosen[name] for name in local_parameters()}
    overrides = _overrides(chosen)
    sam = _Sam(aws, template.parent)

    def build(folder: Path) -> None:
        sam(
            "build",
            *("--template-file", str(template), "--build-dir", str(folder)),
            *("--base-dir", str(template.parent), "--parallel"),
            *_overrides(of_build),
        )

    build_folder = builds.built(template, of_build, aws.root, build)
    built = time.monotonic()

    step("deploying (sam deploy)")
    if bucket is None:
        bucket, s3 = _BUCKET, aws.client("s3")
        if not any(each["Name"] == bucket for each in s3.list_buckets()["Buckets"]):
            s3.create_bucket(
                Bucket=bucket,
                CreateBucketConfiguration={"LocationConstraint": s3.meta.region_name},
            )
    sam(
        "deploy",
        *("--template-file", str(build_folder / "template.yaml"), "--stack-name", name),
        *("--s3-bucket", bucket, "--capabilities", "CAPABILITY_IAM", "--no-progressbar"),
        *("--no-confirm-changeset", "--on-failure", "DO_NOTHING"),
        *overrides,
    )
    described = aws.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
    return Stack(
        name=name,
        built=build_folder,
        outputs={o["OutputKey"]: o["OutputValue"] for o in described.get("Outputs", [])},
        build_seconds=built - started,
        deploy_seconds=time.monotonic() - built,
    )


def _check_names(template: Path, parameters: Mapping[str, str]) -> None:
    """sam itself passes over a parameter that the template does not have."""
    from samcli.yamlhelper import yaml_parse  # type: ignore[import-untyped]

    known = sorted(yaml_parse(template.read_text())["Parameters"])
    for name in parameters:
        if name not in known:
            raise OnceError(f"{template.name} has no parameter {name}. It has {', '.join(known)}.")


def local_parameters() -> dict[str, str]:
    """The template's parameters that must fit this machine rather than AWS."""
    machine = platform.machine().lower()
    return {
        "Timing": "fast",
        "PythonRuntime": f"python{sys.version_info.major}.{sys.version_info.minor}",
        "Architecture": "arm64" if machine in ("arm64", "aarch64") else "x86_64",
    }


class _Sam:
    def __init__(self, aws: Target, project: Path) -> None:
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
            **_settings_of_pip(),
            **aws.environment(),
            "PATH": f"{Path(sys.executable).parent}:{inherited_environment().get('PATH', '')}",
            "TMPDIR": str(self._folder),
            "SAM_CLI_TELEMETRY": "0",
            "__SAM_CLI_APP_DIR": str(self._folder),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "COLUMNS": "160",
        }
        self._environment |= wheels.settings(project, self._environment, self._folder / "pip.log")

    def __call__(self, command: str, *arguments: str) -> None:
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


def _settings_of_pip() -> dict[str, str]:
    names = ("PIP_", "SSL_", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY")
    return {k: v for k, v in os.environ.items() if k.upper().startswith(names)}


def _overrides(parameters: Mapping[str, str]) -> list[str]:
    return ["--parameter-overrides", *(_override(k, v) for k, v in parameters.items())]


def _override(name: str, value: str) -> str:
    if "\\" in value:
        raise OnceError(f"--set {name}: sam cannot pass a value with a backslash in it.")
    escaped = value.replace('"', '\\"')
    return f'{name}="{escaped}"'


def _useful_part(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    lines = [line for line in lines if line.strip("-=")]
    first = next((at for at, line in enumerate(lines) if _FAILURE.search(line)), 0)
    return "\n".join(lines[first:][-_USEFUL_LINES:])
