"""`make first-hour`: runs each command that README and program print, as a newcomer types it.

A clone in a folder with a space and an umlaut, an empty HOME and no AWS credentials. The address of
the repository is replaced by that of the clone. A command that goes to AWS must end by naming what
it lacks; a command that serves is ended with Ctrl-C.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

from once.cli import OPERATE, TRY, load
from once.project import EXAMPLE, ROOT

ADDRESS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
SECONDS = 400
# What a person puts in place of a word in capitals.
MEANT = {
    "CAPTURE": "events.jsonl",
    "FILE": "events.jsonl",
    "ID": "74e1a5fd-6d34-55a6-844d-5f3f3b0c54bc",
}
NEEDS_UV = re.compile(r"uvx? ")
# They take the requirement that `uvx --from` has on the page.
INSTALLERS = {
    "uv": "uv tool install --python 3.13 {} && ~/.local/bin/once --version "
    "&& uv tool uninstall genesys-once",
    "pipx": "pipx install {} && ~/.local/bin/once --version",
    "pip": "python3 -m venv own && own/bin/pip install --quiet {} && own/bin/once --version",
}
SERVES = re.compile(r"\b(make dev|once (dev|console))\b")
OPERATES = re.compile(r"once (check|console|explain ID|parked|pause|resume|send|status)\b")
TO_AWS = re.compile(r"make deploy\b|--stack genesys-once")
LACKS_AWS = re.compile(r"no region|region and credentials", re.IGNORECASE)
LACKS_STACK = re.compile(r"\bonce up$", re.MULTILINE)
# Examples of the program name ids that a stack in this folder does not have.
LACKS_EVENT = re.compile(r"nothing|no claim|not known|no archive", re.IGNORECASE)


def printed_in(page: str) -> Iterator[str]:
    """Yields the commands of a page: lines of its shell blocks, and prose with an argument."""
    printed = r"^ *```sh\n(?P<block>.*?)^ *```|`(?P<inline>(?:make|once) [\w-]+ [^`]+)`"
    for match in re.finditer(printed, page, re.MULTILINE | re.DOTALL):
        text = match["block"] or match["inline"].replace("\n", " ")
        for line in text.replace("\\\n", " ").splitlines():
            command, _, comment = line.partition(" #")
            if command.strip():
                yield command.strip()
            yield from re.findall(r"`(once [^`]+)`", comment)


def read_examples() -> Iterator[str]:
    """Yields the example of each command, and of each command in a group."""
    for name in (*TRY, *OPERATE):
        command = load(name)
        inner = command.commands.values() if isinstance(command, click.Group) else [command]
        yield from (str(each.epilog).removeprefix("Example: ") for each in inner)


class Newcomer:
    """A person with a shell, in a folder of their own."""

    def __init__(self, root: Path) -> None:
        self.home, self.clone, self.elsewhere = root / "home", root / "clone", root / "elsewhere"
        self.home.mkdir(parents=True)
        self.elsewhere.mkdir()
        self.output = root / "output"
        self.is_active = False
        self.has_stack = False
        self.failed: list[str] = []
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.clone)], check=True)
        shutil.copy(EXAMPLE, self.clone / "events.jsonl")
        # Only what reaches a package index here, and no AWS account.
        kept = ("PIP_", "UV_", "SSL_", "HTTP", "NO_PROXY", "PATH", "LANG")
        self.environment = {
            **{name: value for name, value in os.environ.items() if name.startswith(kept)},
            "HOME": str(self.home),
            "AWS_EC2_METADATA_DISABLED": "true",
            "BROWSER": "true",
        }

    def type(self, command: str, folder: Path | None = None) -> None:
        """Runs a command until it ends, or serves; prints how that went."""
        # With a host, as older versions of pip demand.
        address = self.clone.as_uri().replace("file://", "file://localhost")
        typed = command.replace(ADDRESS, address)
        for word, meant in MEANT.items():
            typed = re.sub(rf"(?<![\w=/-]){re.escape(word)}(?![\w/-])", meant, typed)
        self.is_active = self.is_active or typed.startswith("source ")
        if self.is_active and folder is None:
            typed = f"source .venv/bin/activate && {typed}"
        started = time.monotonic()
        with self.output.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", typed],
                cwd=folder or self.clone,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        is_served = self._wait(process, bool(SERVES.search(typed)))
        output = self.output.read_text(errors="replace")
        works = "Traceback" not in output and (
            is_served or self._ends_well(command, process.returncode, output)
        )
        if not works:
            self.failed.append(command)
            print(output[-2_000:])
        how = "serves" if is_served else f"ends with {process.returncode}"
        seconds = time.monotonic() - started
        print(f"{seconds:6.1f} s  {how}{'' if works else ' FAILED'}  {command}", flush=True)

    def _ends_well(self, command: str, code: int, output: str) -> bool:
        """Returns whether a command did what it can without AWS, or names what it lacks."""
        if TO_AWS.search(command):
            return code in (1, 2) and bool(LACKS_AWS.search(output))
        if self.has_stack:
            return code in (0, 3) or (code in (1, 2, 4) and bool(LACKS_EVENT.search(output)))
        if command.startswith("once destination") or OPERATES.match(command):
            return code == 1 and bool(LACKS_STACK.search(output))
        return code in (0, 3)

    def _wait(self, process: subprocess.Popen[bytes], serves: bool) -> bool:
        """Returns whether it served, until it was ended with Ctrl-C."""
        until = time.monotonic() + SECONDS
        while process.poll() is None:
            is_up = serves and "Ctrl-C" in self.output.read_text(errors="replace")
            if is_up or time.monotonic() > until:
                os.killpg(process.pid, signal.SIGINT)
                process.wait(60)
                return is_up
            time.sleep(0.1)
        return False


def main() -> int:
    readme = list(printed_in((ROOT / "README.md").read_text("utf-8")))
    examples = list(read_examples())
    has_uv = shutil.which("uv") is not None
    not_tried = [command for command in readme if NEEDS_UV.match(command) and not has_uv]
    (requirement,) = {
        match for line in readme for match in re.findall(r"'genesys-once\[.*?'", line)
    }
    with tempfile.TemporaryDirectory(prefix="first-hour-") as folder:
        person = Newcomer(Path(folder) / "früh stück")
        for command in readme:
            if command not in not_tried:
                person.type(command, person.elsewhere if NEEDS_UV.match(command) else None)
        for program, command in INSTALLERS.items():
            if shutil.which(program):
                person.type(command.format(requirement), person.elsewhere)
        # `once run` and `once dev` have a stack of their own, which these share.
        own_stack = [line for line in examples if line.startswith(("once dev", "once run"))]
        for command in own_stack:
            person.type(command)
        person.type(next(line for line in examples if line.startswith("once up")))
        person.has_stack = True
        person.type('eval "$(once up --env)" && env | grep -q ^AWS_ENDPOINT_URL=')
        person.type("once send events.jsonl --wait")
        for command in [*filter(OPERATES.match, readme), *examples]:
            if command not in own_stack and not command.startswith(("once up", "once down")):
                person.type(command)
        person.type("once down")
        person.has_stack = person.is_active = False
        person.type("make run")
        person.type("make clean")
    for command in not_tried:
        print(f"not tried, there is no uv: {command}")
    for command in person.failed:
        print(f"failed: {command}")
    return int(bool(person.failed))


if __name__ == "__main__":
    sys.exit(main())
