"""Runs tests in a copy of the project, each run in a fork, so that the libraries are loaded once.

Reads one request a line: what the tests of a package execute, or whether they notice a change.
"""

import json
import os
import resource
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

# Loaded before the first fork: what the tests take longest to import.
import boto3  # noqa: F401
import pydantic  # noqa: F401
import pytest
import rich.table  # noqa: F401
import typer.testing  # noqa: F401
import urllib3  # noqa: F401

COLLECTING = ""


class Watch:
    """Records for each test which lines of the given files it executes, its time and its result."""

    def __init__(self, files: list[str]) -> None:
        self.names = {str(Path(file).resolve()): file for file in files}
        self.tests: dict[str, dict[str, Any]] = {COLLECTING: {"lines": set()}}
        self.lines: set[tuple[str, int]] = self.tests[COLLECTING]["lines"]

    def trace(self, frame: FrameType, _event: str, _argument: object) -> Any:
        file = self.names.get(frame.f_code.co_filename)
        if file is None:
            return None
        lines = self.lines

        def local(frame: FrameType, _event: str, _argument: object) -> Any:
            lines.add((file, frame.f_lineno))
            return local

        return local(frame, "", None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        test = self.tests[item.nodeid] = {"lines": set(), "passed": False}
        self.lines = test["lines"]
        began, used = time.monotonic(), time.process_time()
        try:
            return (yield)
        finally:
            test["seconds"] = time.monotonic() - began
            test["used"] = time.process_time() - used

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self.tests[report.nodeid]["passed"] = report.passed


class Chosen:
    """Only these tests, in this order: the quick ones first, since the first failure ends it."""

    def __init__(self, tests: list[str]) -> None:
        self.order = {test: index for index, test in enumerate(tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self.order]
        items.sort(key=lambda item: self.order[item.nodeid])


def watched(request: dict[str, Any]) -> dict[str, Any]:
    watch = Watch(request["files"])
    threading.settrace(watch.trace)
    sys.settrace(watch.trace)
    options = ("-m", "not local", "--continue-on-collection-errors", *request["without"])
    _pytest(watch, request["tests"], *options)
    sys.settrace(None)
    for test in watch.tests.values():
        test["lines"] = sorted(test["lines"])
    return watch.tests


def judged(request: dict[str, Any]) -> dict[str, Any]:
    resource.setrlimit(resource.RLIMIT_CPU, (request["used"], request["used"] + 5))
    code = _pytest(Chosen(request["order"]), request["tests"], "-x")
    unseen = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return {"verdict": "survived" if code in unseen else "killed"}


def _pytest(plugin: object, tests: list[str], *options: str) -> int:
    quiet = ("-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-seed=0", "--tb=no")
    return pytest.main([*tests, *quiet, *options], plugins=[plugin])


def forked(work: Callable[[dict[str, Any]], dict[str, Any]], request: dict[str, Any]) -> Any:
    """The answer of the work done in a process of its own, or nothing if it took too long."""
    answer = Path("answer.json").resolve()
    answer.unlink(missing_ok=True)
    done, ending = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.close(done)
        try:
            answer.write_text(json.dumps(work(request)))
        finally:
            os._exit(0)
    os.close(ending)
    select.select([done], [], [], request["seconds"])
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(done)
    return json.loads(answer.read_text()) if answer.exists() else None


def main() -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if request["work"] == "watch":
            answer = forked(watched, request)
        else:
            file = Path(request["file"])
            source = file.read_bytes()
            # Compiled code is found by time and size, and a change may have both of the original.
            for compiled in file.parent.glob(f"__pycache__/{file.stem}.*.pyc"):
                compiled.unlink()
            sys.dont_write_bytecode = True
            try:
                file.write_text(request["module"])
                answer = forked(judged, request) or {"verdict": "timed out"}
            finally:
                file.write_bytes(source)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
