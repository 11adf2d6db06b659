"""Runs a Python program that cannot outlive its parent: `child.py [--remove DIR] PROGRAM ARGS…`.

The parent holds the other end of stdin. When that closes, for whatever reason (SIGKILL too), the
whole process group is killed. PROGRAM is a script or a module; it gets an empty stdin.
"""

import os
import runpy
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen, TimeoutExpired

TERMINATE_SECONDS = 3
_REMOVE = 'for attempt in 1 2 3 4 5; do rm -rf "$1"; [ -e "$1" ] || exit; sleep 0.2; done'


def start(
    program: str,
    *args: str,
    env: Mapping[str, str],
    log: Path,
    cwd: Path | None = None,
    remove: Path | None = None,
) -> Popen[bytes]:
    """Start `program` in a process group of its own; `remove` is deleted if we die first."""
    # -P keeps this folder, whose modules have common names, out of the program's import path.
    command = [sys.executable, "-P", __file__]
    if remove is not None:
        command += ["--remove", str(remove)]
    with log.open("ab") as out:
        return Popen(  # noqa: S603 - the command is built above from our own parts
            [*command, program, *args],
            stdin=PIPE,
            stdout=out,
            stderr=STDOUT,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
        )


def stop(process: Popen[bytes]) -> None:
    """End the group: ask, wait, then kill whatever of it is left."""
    _signal_group(process, signal.SIGTERM)
    try:
        process.wait(TERMINATE_SECONDS)
    except TimeoutExpired:
        pass
    finally:
        kill(process)


def kill(process: Popen[bytes]) -> None:
    """End the group without asking."""
    _signal_group(process, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _signal_group(process: Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return  # the group is empty; macOS says EPERM where Linux says ESRCH


def _die_with_parent(remove: str | None) -> None:
    parent = os.dup(0)
    os.set_inheritable(parent, False)
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)

    def watch() -> None:
        while os.read(parent, 1):
            pass
        try:
            if remove is not None:
                # Left to one outside the group: those in it write there until they are dead.
                Popen(["/bin/sh", "-c", _REMOVE, "sh", remove], start_new_session=True)  # noqa: S603
        finally:
            os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, name="watch-parent", daemon=True).start()


def main(arguments: list[str]) -> None:
    remove = None
    if arguments[0] == "--remove":
        remove, arguments = arguments[1], arguments[2:]
    _die_with_parent(remove)
    program, *sys.argv[1:] = arguments
    sys.argv[0] = program
    if os.path.exists(program):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
