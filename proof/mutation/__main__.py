"""`make mutate`: tries a sample of all changes, and says how many of them the tests notice."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proof.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
SOURCES = ("", "functions/enrichment", "functions/data_action")
SECONDS = 300


@dataclass(frozen=True)
class Package:
    """The code to change, the tests that should fail, and the share of changes they must find."""

    files: str
    tests: tuple[str, ...]
    bound: float = 0.9


PACKAGES = {
    "enrichment": Package("functions/enrichment/once_enrichment/*.py", ("tests/enrichment",)),
    "action": Package("functions/data_action/once_data_action/*.py", ("tests/action",)),
    "model": Package(
        "once/model/*.py",
        (
            "tests/model",
            "tests/commands/test_explain.py",
            "tests/commands/test_status.py",
            "tests/template/test_alarms.py",
        ),
    ),
}


def changes(package: Package) -> Iterator[Mutant]:
    for path in sorted(ROOT.glob(package.files)):
        yield from mutants(path.relative_to(ROOT).as_posix(), path.read_text())


def is_noticed(folder: Path, mutant: Mutant, package: Package) -> bool:
    """Runs the tests with the change in a copy of the project, until one fails."""
    path = folder / mutant.file
    original = path.read_text()
    path.write_text(mutant.module)
    try:
        return not passes(folder, package)
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(original)


def passes(folder: Path, package: Package) -> bool:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *package.tests]
    places = os.pathsep.join(str(folder / source) for source in SOURCES)
    ended = subprocess.run(
        [*command, "-m", "not local and not thorough"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": places},
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return ended.returncode == 0


def run(name: str, sample: int, seed: int) -> bool:
    package = PACKAGES[name]
    every = list(changes(package))
    tried = random.Random(seed).sample(every, min(sample, len(every)))  # noqa: S311 - no secret
    noticed = 0
    with tempfile.TemporaryDirectory(prefix="mutation-") as copy:
        folder = Path(copy) / "project"
        ignored = shutil.ignore_patterns(".git", ".venv*", "node_modules", ".once", "*_cache")
        shutil.copytree(ROOT, folder, ignore=ignored)
        if not passes(folder, package):
            print(f"{name}: the tests fail without a change, so no share is known")
            return False
        for mutant in tried:
            if is_noticed(folder, mutant, package):
                noticed += 1
            else:
                print(f"{mutant.file}:{mutant.line}  {mutant.change}", flush=True)
    share = noticed / len(tried)
    print(f"{name}: {noticed} of {len(tried)} changes are noticed ({share:.0%}), seed {seed}")
    return share >= package.bound


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proof.mutation", description=__doc__)
    parser.add_argument("--only", action="append", choices=PACKAGES, help="this package alone")
    parser.add_argument("--sample", type=int, default=60, help="how many changes of each package")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    results = [run(name, options.sample, options.seed) for name in options.only or PACKAGES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
