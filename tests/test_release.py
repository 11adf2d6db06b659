"""What is installed, deployed and released is pinned, and says one version."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from proof.definition.asl import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FUNCTIONS = sorted(ROOT.glob("functions/*/requirements.txt"))
LOCKS = sorted(ROOT.glob("requirements*.lock"))
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):.*##", MAKEFILE, re.M))
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")]


def pins(path: Path) -> dict[str, list[str]]:
    """The hashes of each requirement, by name, version and where it applies."""
    found = {}
    for requirement in path.read_text().replace("\\\n", " ").splitlines():
        pinned, *hashes = requirement.split(" --hash=")
        found[pinned.strip()] = hashes
    return found


@pytest.mark.parametrize("path", [*LOCKS, *FUNCTIONS], ids=lambda p: str(p.relative_to(ROOT)))
def test_every_requirement_is_pinned_with_its_hashes_and_names_no_registry(path: Path) -> None:
    for pinned, hashes in pins(path).items():
        assert re.match(r"[a-z0-9.-]+==\S+( ; |$)", pinned), pinned
        assert hashes, pinned
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}\s*", one) for one in hashes), pinned
    assert "://" not in path.read_text()


def test_a_build_without_the_python_of_its_runtime_says_what_is_missing() -> None:
    there = ["make", "-o", ".venv/.ready", "build", "RUNTIME=python9.9"]
    answer = subprocess.run(there, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode
    assert "sam build needs python9.9, which samconfig.toml names" in answer.stdout
    named = subprocess.run(
        ["make", "-n", "-o", ".venv/.ready", "build"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "python3.13 --version" in named.stdout


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda p: p.parent.name)
def test_functions_are_deployed_with_what_the_tests_run_with(path: Path) -> None:
    assert pins(path).items() <= pins(ROOT / "requirements.lock").items()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_actions_are_pinned_by_commit_with_their_version_beside_it(path: Path) -> None:
    used = re.findall(r"uses: *(.*)", path.read_text())
    assert used
    for one in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one), one


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_workflows_run_commands_that_the_makefile_has(path: Path) -> None:
    (job,) = yaml.safe_load(path.read_text())["jobs"].values()
    made = [step["run"].split()[1] for step in job["steps"] if "make " in step.get("run", "")]
    assert made
    assert set(made) <= TARGETS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_where_all_tests_run_none_is_skipped_for_want_of_an_older_commit(path: Path) -> None:
    (job,) = yaml.safe_load(path.read_text())["jobs"].values()
    checkout, *steps = job["steps"]
    assert {"run": "make test"} in steps
    assert checkout["with"]["fetch-depth"] == 0


def test_the_bill_of_materials_lists_what_the_wheel_and_its_extras_install() -> None:
    recipe = MAKEFILE.split("\nrelease:")[1].split("\n\n")[0]
    (extras,) = re.findall(r"dist/\*\.whl\)\[(.*)]", recipe)
    assert extras.split(",") == list(PROJECT["optional-dependencies"])
    (of_wheel,) = re.findall(r"cyclonedx-py (.*) -o dist/genesys-once\.cdx\.json", recipe)
    assert of_wheel == "environment $(INSTALLED)/bin/python"


def commands(page: Path) -> set[str]:
    """What comes after `make` in code. In prose it is a verb."""
    return set(re.findall(r"(?:^ *|`|&& )make ([a-z][a-z-]*)", page.read_text("utf-8"), re.M))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_target_that_a_page_names_is_in_the_makefile(page: Path) -> None:
    assert commands(page) <= TARGETS


def test_targets_are_found_on_pages() -> None:
    assert {"run", "setup", "deploy", "publish-schemas"} <= set().union(*map(commands, PAGES))


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    first, *_ = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert first == PROJECT["version"]


def test_the_line_without_a_clone_names_a_wheel_and_an_extra_of_this_version() -> None:
    name, version = PROJECT["name"], PROJECT["version"]
    wheel = f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    readme = (ROOT / "README.md").read_text("utf-8")
    assert re.findall(r"^uvx --from '(\S+)\[(\w+)]' (\w+) run", readme, re.M) == [
        (f"./{wheel}", "local", "once")
    ]
    assert f"`{name}[local]`" in readme, "what is enough once it is published"
    assert "local" in PROJECT["optional-dependencies"]
    assert "once" in PROJECT["scripts"]


def test_files_that_contributing_names_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    named = re.findall(r"`((?:[\w.]+/)+[\w.]*)`", text)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
