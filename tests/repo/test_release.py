"""All that is installed, deployed and released is pinned, and has one version."""

import json
import os
import re
import subprocess
import sys
import tomllib
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
import yaml

from once import project
from proof.definition.asl import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FUNCTIONS = sorted(ROOT.glob("functions/*/requirements.txt"))
LOCKS = [
    ROOT / "requirements.lock",
    ROOT / "requirements-dev.lock",
    *sorted(ROOT.glob(".ci/locks/*.lock")),
]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
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


def test_build_without_the_python_of_its_runtime_names_what_is_missing() -> None:
    command = ["make", "-o", ".venv/.ready", "build", "RUNTIME=python9.9"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode
    assert "python9.9" in answer.stdout


def test_install_without_a_registry_names_the_setting_and_makes_no_environment(
    tmp_path: Path,
) -> None:
    no_registry = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": os.devnull}
    variables = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    answer = subprocess.run(
        ["make", "-s", "run", f"VENV={tmp_path}", f"PYTHON={sys.executable}"],
        cwd=ROOT,
        env={**variables, **no_registry},
        capture_output=True,
        text=True,
    )
    assert answer.returncode
    assert "PIP_INDEX_URL" in answer.stdout.splitlines()[-1]
    assert not (tmp_path / "bin").exists()


@pytest.mark.parametrize("path", FUNCTIONS, ids=lambda p: p.parent.name)
def test_functions_are_deployed_with_what_the_tests_run_with(path: Path) -> None:
    assert pins(path).items() <= pins(ROOT / "requirements.lock").items()


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda p: p.name)
def test_actions_are_pinned_by_commit_with_their_version_beside_it(path: Path) -> None:
    used = re.findall(r"uses: *(.*)", path.read_text())
    assert used
    for one in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one), one


JOBS = [
    (path.stem, name, job)
    for path in WORKFLOWS
    for name, job in yaml.safe_load(path.read_text())["jobs"].items()
]


def commands_of(job: dict[str, Any]) -> list[str]:
    """The commands of a job's steps."""
    return [step["run"] for step in job["steps"] if "run" in step]


def test_workflows_run_targets_that_the_makefile_has() -> None:
    commands_typed = [command for *_, job in JOBS for command in commands_of(job)]
    named = [command.partition("make ")[2].partition("ARGS")[0] for command in commands_typed]
    made = set(re.findall(r"[a-z][a-z-]*", " ".join(named)))
    assert {"test-fast", "test-stack", "drift", "check-template"} <= made
    assert made - {"matrix", "target"} <= TARGETS
    (record,) = [job for _, name, job in JOBS if name == "record"]
    assert set(record["strategy"]["matrix"]["target"]) <= TARGETS


def release_job(name: str) -> dict[str, Any]:
    (found,) = [job for workflow, one, job in JOBS if (workflow, one) == ("release", name)]
    return found


def test_the_job_that_runs_pinned_packages_can_neither_write_nor_sign() -> None:
    assert release_job("build")["permissions"] == {"contents": "read"}
    assert "GH_TOKEN" not in json.dumps(release_job("build"))


def test_the_job_that_signs_runs_nothing_that_was_installed() -> None:
    job = release_job("publish")
    assert (job["needs"], job["environment"]) == ("build", "release")
    used = [step["uses"].partition("@")[0] for step in job["steps"] if "uses" in step]
    assert used == ["actions/attest-build-provenance"]
    assert {command.split()[0] for command in commands_of(job)} == {"gh", "sha256sum"}


def test_the_job_that_uploads_needs_no_token_and_may_write_nothing_here() -> None:
    job = release_job("index")
    assert (job["needs"], job["environment"]) == ("publish", "release")
    assert job["permissions"] == {"actions": "read", "id-token": "write"}
    (upload,) = [step for step in job["steps"] if "uses" in step]
    assert upload["uses"].startswith("pypa/gh-action-pypi-publish@")
    assert upload["with"] == {"packages-dir": "wheel"}
    assert "secrets." not in json.dumps(job)


def test_an_audit_without_an_answer_is_skipped_and_has_not_passed(tmp_path: Path) -> None:
    auditor = tmp_path / "bin" / "pip-audit"
    auditor.parent.mkdir()
    auditor.write_text("#!/bin/sh\necho no vulnerabilities\n")
    auditor.chmod(0o755)
    make = ["make", "-o", str(tmp_path), "audit", f"AUDITOR={tmp_path}"]
    answer = subprocess.run(
        [*make, "ADVISORIES=http://127.0.0.1:1/"], cwd=ROOT, capture_output=True, text=True
    )
    assert answer.returncode
    assert "Skipped" in answer.stdout
    assert "no vulnerabilities" not in answer.stdout
    jobs = {name: job for workflow, name, job in JOBS if workflow == "security"}
    assert jobs["audit"]["if"] == "needs.advisories.outputs.answer == 'yes'"
    (source,) = re.findall(r"^ADVISORIES := (\S+)$", MAKEFILE, re.M)
    assert source in " ".join(commands_of(jobs["advisories"]))


@pytest.mark.parametrize("faulty", [False, True])
def test_an_audit_fails_if_one_of_the_locks_is_vulnerable(tmp_path: Path, faulty: bool) -> None:
    (tmp_path / "bin").mkdir()
    curl, auditor = tmp_path / "bin" / "curl", tmp_path / "bin" / "pip-audit"
    curl.write_text("#!/bin/sh\n")
    # The first of them, so that a later clean one could hide it.
    found = '[ "$2" != .ci/locks/audit.lock ]' if faulty else "true"
    auditor.write_text(f"#!/bin/sh\necho $2\n{found}\n")
    for program in (curl, auditor):
        program.chmod(0o755)
    answer = subprocess.run(
        ["make", "-s", "-o", str(tmp_path), "audit", f"AUDITOR={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{curl.parent}:{os.environ['PATH']}"},
    )
    assert bool(answer.returncode) is faulty
    assert {str(path.relative_to(ROOT)) for path in (*LOCKS, *FUNCTIONS)} == {
        *answer.stdout.split()
    }


def test_no_release_is_made_of_stale_records_or_for_an_unnamed_repository(tmp_path: Path) -> None:
    job = release_job("build")
    assert commands_of(job).index("make check-release") < commands_of(job).index("make release")
    check = ["make", "-s", "-f", str(ROOT / "Makefile"), "-o", "check-records", "check-release"]
    pages = [tmp_path / name for name in ("pyproject.toml", "README.md", "template.yaml")]
    for unnamed in (None, *pages):
        for page in pages:
            owner = "OWNER" if page == unnamed else "somebody"
            page.write_text(f"https://github.com/{owner}/genesys-once")
        answer = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True)
        assert bool(answer.returncode) is bool(unnamed)
        assert ("Name the repository" in answer.stdout) is bool(unnamed)


def test_the_bill_of_materials_lists_what_the_wheel_and_its_extras_install() -> None:
    recipe = MAKEFILE.split("\nrelease:")[1].split("\n\n")[0]
    (extras,) = re.findall(r"dist/\*\.whl\)\[(.*)]", recipe)
    assert extras.split(",") == list(PROJECT["optional-dependencies"])
    (of_wheel,) = re.findall(r"cyclonedx-py (.*) -o dist/genesys-once\.cdx\.json", recipe)
    assert of_wheel == "environment $(INSTALLED)/bin/python"


def commands(page: Path) -> set[str]:
    """Finds the targets after `make` in code; in prose it is a verb."""
    return set(re.findall(r"(?:^ *|`|&& )make ([a-z][a-z-]*)", page.read_text("utf-8"), re.M))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_target_that_a_page_names_is_in_the_makefile(page: Path) -> None:
    assert commands(page) <= TARGETS


def test_the_changelog_begins_with_the_version_of_the_package() -> None:
    first, *_ = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert first == PROJECT["version"]


def test_pages_and_program_install_from_the_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    address = PROJECT["urls"]["Repository"]
    of_wheel = Message()
    of_wheel["Project-URL"] = f"Repository, {address}"
    monkeypatch.setattr(project, "metadata", lambda _: of_wheel)
    monkeypatch.setattr(project, "IN_CLONE", False)
    wanted = f"'genesys-once[local] @ git+{address}'"
    assert project.say_how_to_install("local") == f"uv tool install --python 3.13 {wanted}"
    assert "    Runtime: python3.13\n" in (ROOT / "template.yaml").read_text()
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"uvx --python 3.13 --from {wanted} once run" in readme
    addresses = [one for page in PAGES for one in re.findall(r"git\+(\S+?)'", page.read_text())]
    assert {*addresses} == {address}
