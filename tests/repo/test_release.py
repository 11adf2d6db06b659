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
LOCKS = [
    ROOT / "requirements.lock",
    ROOT / "requirements-dev.lock",
    *sorted(ROOT.glob(".ci/locks/*.lock")),
]
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")]


@pytest.mark.parametrize("path", LOCKS, ids=lambda p: str(p.relative_to(ROOT)))
def test_every_requirement_is_pinned_with_its_hashes_and_names_no_registry(path: Path) -> None:
    for requirement in path.read_text().replace("\\\n", " ").splitlines():
        pinned, *hashes = requirement.split(" --hash=")
        assert re.match(r"[a-z0-9.-]+==\S+ *( ; |$)", pinned), pinned
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
    assert "secrets." not in json.dumps(job)


def run_audit(folder: Path, curl: str, auditor: str) -> subprocess.CompletedProcess[str]:
    """Runs `make audit` with a curl and a pip-audit that are these scripts."""
    (folder / "bin").mkdir()
    for name, script in (("curl", curl), ("pip-audit", auditor)):
        program = folder / "bin" / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
    return subprocess.run(
        ["make", "-s", "-o", str(folder), "audit", f"AUDITOR={folder}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
    )


def test_an_audit_without_an_answer_is_skipped_and_has_not_passed(tmp_path: Path) -> None:
    answer = run_audit(tmp_path, curl="exit 7", auditor="echo no vulnerabilities")
    assert answer.returncode
    assert "Skipped" in answer.stdout
    assert "no vulnerabilities" not in answer.stdout
    jobs = {name: job for workflow, name, job in JOBS if workflow == "security"}
    assert jobs["audit"]["if"] == "needs.advisories.outputs.answer == 'yes'"
    (source,) = re.findall(r"^ADVISORIES := (\S+)$", MAKEFILE, re.M)
    assert source in " ".join(commands_of(jobs["advisories"]))


@pytest.mark.parametrize("faulty", [False, True])
def test_an_audit_fails_if_one_of_the_locks_is_vulnerable(tmp_path: Path, faulty: bool) -> None:
    # One in the middle, so that a later clean one could hide it.
    found = '[ "$2" != .ci/locks/audit.lock ]' if faulty else "true"
    answer = run_audit(tmp_path, curl="exit 0", auditor=f"echo $2\n{found}")
    assert bool(answer.returncode) is faulty
    audited = {ROOT / name for name in answer.stdout.split()}
    assert audited == {*LOCKS, *ROOT.glob("functions/*/requirements.txt")}


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
