"""`make first-hour`: runs each command that README and program print, as a newcomer types it.

A clone, an empty HOME and no AWS credentials. The address of the repository is replaced by that of
this one; a command that goes to AWS must end by naming what it lacks, and one that serves is ended
with Ctrl-C.
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

from once.cli import commands
from once.project import ROOT

ADDRESS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
SECONDS = 400
# What a person puts in place of a word in capitals.
MEANT = {
    "EVENTS.jsonl": "events.jsonl",
    "FILE": "events.jsonl",
    "ID": "74e1a5fd-6d34-55a6-844d-5f3f3b0c54bc",
    "KEY": "o/conversation/c/v1/conversation.acd.start",
    "NAME": "genesys-once",
    "REPLY": "503",
}
# These take a quarter of an hour themselves.
LEFT_OUT = re.compile(r"make (test|compare|bench)\b")
NEEDS_UV = re.compile(r"uvx? ")
SERVES = re.compile(r"\b(make dev|once (dev|console))\b")
LACKS = re.compile(r"region|credentials|nothing|no claim|not known|no archive", re.IGNORECASE)


def printed_in(page: str) -> Iterator[str]:
    """Yields the commands in the shell blocks of a page, without their comments."""
    for block in re.findall(r"^ *```sh\n(.*?)^ *```", page, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            if command := re.sub(r"\s+#.*", "", line).strip():
                yield command


def in_order(example: str) -> int:
    """Sorts examples: those with a stack of their own first, `once up`, and its end last."""
    return 2 if example == "once down" else int(not example.startswith(("once dev", "once run")))


class Newcomer:
    """A person with a shell, in a folder of their own."""

    def __init__(self, root: Path) -> None:
        self.home, self.clone, self.elsewhere = root / "home", root / "clone", root / "elsewhere"
        self.home.mkdir()
        self.elsewhere.mkdir()
        self.log = root / "said"
        self.is_active = False
        self.failed: list[str] = []
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(self.clone)], check=True)
        # Only what reaches a package index here, and no AWS account.
        kept = ("PIP_", "UV_", "SSL_", "HTTP", "NO_PROXY", "PATH", "LANG")
        self.environment = {
            **{name: value for name, value in os.environ.items() if name.startswith(kept)},
            "HOME": str(self.home),
            "AWS_EC2_METADATA_DISABLED": "true",
            "BROWSER": "true",
        }

    def type(self, command: str, folder: Path) -> None:
        """Runs a command until it ends, or serves; prints how that went."""
        typed = command.replace(f"git+{ADDRESS}", f"git+file://{ROOT}")
        for word, meant in MEANT.items():
            typed = re.sub(rf"(?<![\w=/-]){re.escape(word)}(?![\w/-])", meant, typed)
        self.is_active = self.is_active or typed.startswith("source ")
        if self.is_active and folder == self.clone:
            typed = f"source .venv/bin/activate && {typed}"
        started = time.monotonic()
        with self.log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", typed],
                cwd=folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
        is_served = self._wait(process, bool(SERVES.search(typed)))
        said = self.log.read_text(errors="replace")
        lacks = process.returncode in (1, 2, 4) and LACKS.search(said)
        works = is_served or process.returncode in (0, 3) or lacks
        works = works and "once/cli.py" not in said  # as a traceback of ours has it
        if not works:
            self.failed.append(command)
            print(said[-2_000:])
        how = "serves" if is_served else f"ends with {process.returncode}"
        print(f"{time.monotonic() - started:6.1f} s  {how}{'' if works else ' FAILED'}  {command}")

    def _wait(self, process: subprocess.Popen[bytes], serves: bool) -> bool:
        """Returns whether it served, until it was ended with Ctrl-C."""
        until = time.monotonic() + SECONDS
        while process.poll() is None:
            is_up = serves and "Ctrl-C" in self.log.read_text(errors="replace")
            if is_up or time.monotonic() > until:
                os.killpg(process.pid, signal.SIGINT)
                process.wait(60)
                return is_up
            time.sleep(0.1)
        return False


def main() -> int:
    readme = list(printed_in((ROOT / "README.md").read_text("utf-8")))
    examples = [command.epilog.removeprefix("Example: ") for _, command in commands()]
    with tempfile.TemporaryDirectory(prefix="first-hour-") as folder:
        person = Newcomer(Path(folder))
        for command in filter(NEEDS_UV.match, readme):
            if shutil.which("uv"):
                person.type(command, person.elsewhere)
            else:
                print(f"left out, there is no uv: {command}")
        person.type("make setup", person.clone)
        person.type("source .venv/bin/activate && once example > events.jsonl", person.clone)
        person.is_active = False
        for command in readme:
            if not NEEDS_UV.match(command) and not LEFT_OUT.match(command):
                person.type(command, person.clone)
        person.is_active = True
        (person.clone / "trouble.json").write_text('{"rules": []}')
        # `once dev` has a stack of its own; the others want the one that `once up` starts.
        for command in sorted(examples, key=in_order):
            person.type(command, person.clone)
        person.is_active = False
        person.type("make run", person.clone)
        person.type("make clean", person.clone)
    for command in person.failed:
        print(f"failed: {command}")
    return int(bool(person.failed))


if __name__ == "__main__":
    sys.exit(main())
