"""`make mutate`: a sample of all changes, or all of them, and how many the tests notice."""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from proof.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
ENDED_BY_A_TEST = ("killed", "timed out")


@dataclass(frozen=True)
class Package:
    """The code to change, the tests that should fail, and the share of changes they must find."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    bound: float
    # Tests that measure time or memory say nothing reliable about a change.
    without: tuple[str, ...] = ()


# The models of a contract are held by the check of the schemas that follow from them.
CONTRACTS = "tests/contracts/test_checks_bite.py"


def _function(name: str, *more: str, without: tuple[str, ...] = ()) -> Package:
    return Package((f"functions/{name}/once_{name}/*.py",), (f"tests/{name}", *more), 0.9, without)


PACKAGES = {
    "enrichment": _function(
        "enrichment",
        CONTRACTS,
        without=("tests/enrichment/test_linear_time.py", "tests/enrichment/test_cold_start.py"),
    ),
    "data_action": _function("data_action", CONTRACTS),
    "pacing": _function("pacing"),
    # The modules that can be tested without AWS.
    "operate": Package(
        tuple(
            f"once/operate/{name}.py"
            for name in ("canaries", "phrases", "refusals", "story", "typed")
        ),
        ("tests/operate",),
        0.8,
    ),
}


class Worker:
    """A copy of the project, with a process that runs tests in it."""

    def __init__(self, copy: Path) -> None:
        ours = ("", "functions/enrichment", "functions/data_action", "functions/pacing")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "proof.mutation.worker"],
            cwd=copy,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(str(copy / one) for one in ours)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **request: Any) -> Any:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()


@contextmanager
def workers(count: int) -> Iterator[list[Worker]]:
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    with ExitStack() as stack:
        hired = []
        for _ in range(count):
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="mutation-")))
            for name in tracked:
                if (ROOT / name).exists():
                    (copy / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / name, copy / name)
            worker = Worker(copy)
            stack.callback(worker.end)
            hired.append(worker)
        yield hired


@dataclass(frozen=True)
class Coverage:
    """The tests that execute each line, and their times."""

    tests: dict[str, dict[str, Any]]
    collecting: frozenset[tuple[str, int]]
    failed: tuple[str, ...]

    @classmethod
    def of(cls, answer: dict[str, dict[str, Any]]) -> "Coverage":
        for test in answer.values():
            test["lines"] = {(file, line) for file, line in test["lines"]}
        collecting = frozenset(answer.pop("")["lines"])
        passed = {name: test for name, test in answer.items() if test["passed"]}
        return cls(passed, collecting, tuple(sorted(answer.keys() - passed.keys())))

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Quick ones first. What runs while the tests are loaded may concern any of them."""
        place = (mutant.file, mutant.line)
        covering = [name for name, test in self.tests.items() if place in test["lines"]]
        if place in self.collecting or not covering:
            covering = list(self.tests)
        return sorted(covering, key=lambda name: float(self.tests[name]["used"]))


def files(package: Package) -> list[str]:
    found = (path for pattern in package.files for path in ROOT.glob(pattern))
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def changes(file: str) -> list[Mutant]:
    return mutants(file, (ROOT / file).read_text("utf-8"))


def equivalent() -> set[tuple[str, str, str]]:
    listed = tomllib.loads(EQUIVALENT.read_text("utf-8")).get("equivalent", [])
    return {(one["file"], one["line"], one["change"]) for one in listed}


def known(mutant: Mutant) -> tuple[str, str, str]:
    return mutant.file, mutant.text, mutant.change


def judge(worker: Worker, mutant: Mutant, coverage: Coverage) -> str:
    order = coverage.tests_of(mutant)
    chosen = [coverage.tests[name] for name in order]
    verdict: str = worker.ask(
        work="judge",
        file=mutant.file,
        module=mutant.module,
        order=order,
        tests=sorted({name.split("::")[0] for name in order}),
        used=round(20 + 3 * sum(test["used"] for test in chosen)),
        seconds=60 + 5 * sum(test["seconds"] for test in chosen),
    )["verdict"]
    return verdict


def run(arguments: argparse.Namespace, console: Console) -> bool:
    skipped = equivalent()
    table = Table(
        "package", "changes", "tried", "killed", "timed out", "survived", "score", "bound"
    )
    good = True
    with workers(arguments.jobs) as hired:
        free: SimpleQueue[Worker] = SimpleQueue()
        for worker in hired:
            free.put(worker)
        for name in arguments.only or PACKAGES:
            package = PACKAGES[name]
            every = [mutant for file in files(package) for mutant in changes(file)]
            stale = {one for one in skipped if one[0] in {it.file for it in every}}
            for one in sorted(stale - {known(mutant) for mutant in every}):
                console.print(f"[red]{EQUIVALENT.name} names a change that is none: {one}")
                good = False
            every = [mutant for mutant in every if known(mutant) not in skipped]
            tried = every
            if not arguments.all and len(every) > arguments.sample:
                tried = random.Random(arguments.seed).sample(every, arguments.sample)  # noqa: S311
            coverage = Coverage.of(
                hired[0].ask(
                    work="watch",
                    files=sorted({mutant.file for mutant in every}),
                    tests=package.tests,
                    without=[f"--ignore={one}" for one in package.without],
                    seconds=3600,
                )
            )
            console.print(f"{name}: {len(tried)} of {len(every)} changes; these no test notices:")
            for test in coverage.failed:
                console.print(f"[yellow]{escape(test)} fails or is skipped: it judges nothing")

            def verdict(mutant: Mutant, coverage: Coverage = coverage) -> tuple[Mutant, str]:
                worker = free.get()
                try:
                    return mutant, judge(worker, mutant, coverage)
                finally:
                    free.put(worker)

            count: Counter[str] = Counter()
            with ThreadPoolExecutor(arguments.jobs) as pool:
                for mutant, ended in pool.map(verdict, tried):
                    count[ended] += 1
                    if ended == "survived":
                        where = f"{mutant.file}:{mutant.line}"
                        console.print(escape(f"{where}  {mutant.change}"), soft_wrap=True)
            score = sum(count[one] for one in ENDED_BY_A_TEST) / max(1, len(tried))
            good = good and score >= package.bound
            table.add_row(
                name,
                str(len(every)),
                str(len(tried)),
                *(str(count[one]) for one in (*ENDED_BY_A_TEST, "survived")),
                f"{score:.1%}",
                f"{package.bound:.0%}",
            )
    console.print(table)
    console.print(f"seed {arguments.seed}")
    return good


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m proof.mutation", description=__doc__)
    parser.add_argument("--all", action="store_true", help="try every change: a night's work")
    parser.add_argument("--only", action="append", choices=PACKAGES, help="this package alone")
    parser.add_argument("--sample", type=int, default=60, help="how many changes of each package")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    sys.exit(not run(parser.parse_args(), Console()))


if __name__ == "__main__":
    main()
