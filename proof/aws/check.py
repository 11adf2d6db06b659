"""Finds the checks, and says what a check is made of.

A module of `checks` has: a docstring, whose first paragraph is the rule and whose rest says whom it
affects and what it guards here; SOURCES; `findings`, which lists the faults of a deployment; and
BROKEN, deployments that the check must refuse, each as an edit of ours.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from proof.aws import checks
from proof.aws.deployed import Deployed, Edit

# A page of AWS, its code, a recording on AWS, or a problem that a user reported.
Kind = Literal["page", "code", "recording", "issue"]
DOCS = "https://docs.aws.amazon.com/"
_RECORDED = (
    "https://github.com/localstack/localstack/blob/main/tests/aws/services/stepfunctions/v2/"
)


@dataclass(frozen=True)
class Source:
    kind: Kind
    address: str
    says: str


def page(path: str, says: str) -> Source:
    """Under https://docs.aws.amazon.com/."""
    return Source("page", DOCS + path, says)


def recording(test: str, says: str) -> Source:
    """In LocalStack's snapshots of Step Functions, which were made on AWS."""
    return Source("recording", f"{_RECORDED}{test}.snapshot.json", says)


def issue(repository_and_number: str, says: str) -> Source:
    """On GitHub, as owner/repository/issues/1 or …/pull/1."""
    return Source("issue", f"https://github.com/{repository_and_number}", says)


def code(repository: str, says: str) -> Source:
    """Code of AWS's own on GitHub."""
    return Source("code", f"https://github.com/{repository}", says)


@dataclass(frozen=True)
class Check:
    name: str
    rule: str
    more: str
    sources: tuple[Source, ...]
    findings: Callable[[Deployed], Iterator[str]]
    broken: Mapping[str, Edit]


def index(checks: Sequence[Check]) -> str:
    """The list of all checks, as it stands in README.md."""
    rows = [f"| [{one.name}](checks/{one.name}.py) | {one.rule} |" for one in checks]
    return "\n".join(["| check | rule |", "|---|---|", *rows])


def every() -> list[Check]:
    names = sorted(module.name for module in pkgutil.iter_modules(checks.__path__))
    return [_check(name) for name in names]


def _check(name: str) -> Check:
    module = importlib.import_module(f"{checks.__name__}.{name}")
    rule, _, more = (module.__doc__ or "").strip().partition("\n\n")
    return Check(name, _line(rule), _line(more), module.SOURCES, module.findings, module.BROKEN)


def _line(text: str) -> str:
    return " ".join(text.split())
