"""Runs the real `sam build` and `sam deploy` against an emulator."""

import json
import os
import platform
import re
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from once.errors import OnceError
from once.local import builds, child
from once.local.aws import Emulator, inherited_environment
from once.project import ROUTES, read_routes

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
_USEFUL_LINES = 25
_WITHOUT_INDEX = (
    "The first build takes packages from PyPI, or from the index in PIP_INDEX_URL. Can this "
    "machine reach it?"
)
_OF_PIP = ("PIP_", "SSL_", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY")
# Where sam's log comes to the point.
_FAILURE = re.compile(r"^(Error\b|Build Failed|Traceback)|_FAILED\b")


def deploy(
    aws: Emulator,
    template: Path,
    parameters: Mapping[str, str],
    step: Callable[[str], None] = lambda _: None,
) -> dict[str, str]:
    """Builds and deploys `template` with short durations, for this Python and processor, and
    returns its outputs. A stack that is there already is changed, as on AWS."""
    chosen = {**LOCAL_PARAMETERS, **parameters}
    routes = template.parent / "functions" / "enrichment" / chosen.get("RoutesFile", ROUTES.name)
    if not routes.is_file():
        raise OnceError(f"There is no file of routes {routes}.")
    read_routes(routes)
    step("building (sam build)")
    sam = _Sam(aws, template.parent)
    fitted = json.dumps(fit_to_machine(template))

    def build(folder: Path) -> None:
        # JSON: `sam deploy` reads the template seven times, in a tenth of the time of YAML.
        source = aws.root / "template.yaml"
        source.write_text(fitted)
        sam(
            "build",
            *("--template-file", str(source), "--build-dir", str(folder)),
            *("--base-dir", str(template.parent), "--parallel"),
        )
        written = folder / "template.yaml"
        written.write_text(json.dumps(_parse(written)))

    build_folder = builds.built(template, fitted, aws.root, build)
    _check_names(build_folder / "template.yaml", parameters)

    step("deploying (sam deploy)")
    s3 = aws.client("s3")
    if not any(bucket["Name"] == BUCKET for bucket in s3.list_buckets()["Buckets"]):
        s3.create_bucket(
            Bucket=BUCKET,
            CreateBucketConfiguration={"LocationConstraint": s3.meta.region_name},
        )
    sam(
        "deploy",
        *("--template-file", str(build_folder / "template.yaml"), "--stack-name", STACK_NAME),
        *("--s3-bucket", BUCKET, "--capabilities", "CAPABILITY_IAM", "--no-progressbar"),
        *("--no-confirm-changeset", "--on-failure", "DO_NOTHING"),
        parameters=chosen,
    )
    (stack,) = aws.client("cloudformation").describe_stacks(StackName=STACK_NAME)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}


def fit_to_machine(template: Path) -> dict[str, Any]:
    """Returns the template with what must fit this machine rather than AWS: durations, the Python
    and processor of the functions, and paths, since it is built from a file elsewhere."""
    parsed = _parse(template)
    durations = parsed["Mappings"]["Durations"]["Seconds"]
    if durations.keys() != DURATIONS.keys():
        raise OnceError(
            f"{template} has the durations {', '.join(durations)}, and the local stack knows "
            f"{', '.join(DURATIONS)}. Is it a template of another version?"
        )
    durations.update(DURATIONS)
    machine = platform.machine().lower()
    runtime = {
        "Runtime": f"python{sys.version_info.major}.{sys.version_info.minor}",
        "Architectures": ["arm64" if machine in ("arm64", "aarch64") else "x86_64"],
    }
    functions = [parsed.get("Globals", {}).get("Function", {})]
    for resource in parsed["Resources"].values():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Serverless::Function":
            functions.append(properties)
        for name in ("CodeUri", "DefinitionUri"):
            if isinstance(path := properties.get(name), str):
                properties[name] = str(template.parent / path)
    for function in functions:
        function.update({key: value for key, value in runtime.items() if key in function})
    return parsed


def _parse(template: Path) -> dict[str, Any]:
    from samcli.yamlhelper import yaml_parse

    parsed: dict[str, Any] = yaml_parse(template.read_text("utf-8"))
    return parsed


class _Sam:
    def __init__(self, aws: Emulator, project: Path) -> None:
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
        log = self._folder / "pip.log"
        self._environment |= builds.settings_of_pip(project, self._environment, log)

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


def _check_names(template: Path, parameters: Mapping[str, str]) -> None:
    """Refuses a parameter that the template does not have; sam itself passes over it."""
    known = sorted(json.loads(template.read_text())["Parameters"])
    for name in parameters:
        if name not in known:
            raise OnceError(f"{template.name} has no parameter {name}. It has {', '.join(known)}.")


def _useful_part(log: Path) -> str:
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    lines = [line for line in lines if line.strip("-=")]
    first = next((at for at, line in enumerate(lines) if _FAILURE.search(line)), 0)
    text = "\n".join(lines[first:][-_USEFUL_LINES:])
    return f"{text}\n{_WITHOUT_INDEX}" if "Could not satisfy the requirement" in text else text
