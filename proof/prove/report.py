"""Reports a run, for people and for machines. It can be pasted anywhere: no account number."""

import hashlib
import platform
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version

import boto3
import botocore
from pydantic import Field
from rich.markup import escape

from once.operate.model import Model
from once.project import ROOT
from proof.prove.question import Answer, Verdict
from proof.prove.site import Site

_ACCOUNT = re.compile(r"(?<!\d)\d{12}(?!\d)")
_MARKS = {
    Verdict.CONFIRMED: "[green]✓[/]",
    Verdict.DIFFERS: "[red]✗[/]",
    Verdict.NOT_ANSWERED: "[dim]·[/]",
}
_ORDER = (Verdict.DIFFERS, Verdict.NOT_ANSWERED, Verdict.CONFIRMED)


class Report(Model):
    """The answers of AWS to the questions of one run."""

    run: str
    where: str = Field(description="`AWS` and the region, or the emulator.")
    started_at: str
    seconds: float
    versions: dict[str, str]
    counts: dict[Verdict, int]
    answers: list[Answer]
    dollars: float | None = Field(
        None, description="What the deployed stack cost, by CloudWatch's count and at list price."
    )
    interrupted: bool = False


def made(site: Site, started: datetime, answers: list[Answer], *, interrupted: bool) -> Report:
    place = site.place
    counts = Counter(answer.verdict for answer in answers)
    return Report(
        run=site.run,
        where="the emulator" if place.is_local else f"AWS, {place.region}",
        started_at=started.isoformat(timespec="seconds"),
        seconds=round((datetime.now(UTC) - started).total_seconds(), 1),
        versions=_versions(),
        counts={verdict: counts[verdict] for verdict in Verdict},
        answers=[
            answer.model_copy(update={"said": without_account(answer.said)}) for answer in answers
        ],
        dollars=site.dollars,
        interrupted=interrupted,
    )


def without_account(text: str) -> str:
    return _ACCOUNT.sub("ACCOUNT", text)


def _versions() -> dict[str, str]:
    def fingerprint(name: str) -> str:
        return hashlib.sha256((ROOT / name).read_bytes()).hexdigest()[:12]

    return {
        "genesys-once": version("genesys-once"),
        "template.yaml": fingerprint("template.yaml"),
        "dedupe.asl.yaml": fingerprint("statemachine/dedupe.asl.yaml"),
        "python": platform.python_version(),
        "boto3": boto3.__version__,
        "botocore": botocore.__version__,
    }


def view(report: Report) -> Iterator[str]:
    yield f"[bold]{report.run}[/] on {report.where}, {report.seconds:.0f} s"
    for verdict in _ORDER:
        answers = [answer for answer in report.answers if answer.verdict is verdict]
        if not answers:
            continue
        yield ""
        yield f"[bold]{verdict}[/]: {len(answers)}"
        if verdict is Verdict.CONFIRMED:
            yield from _summed_up(answers)
            continue
        for answer in answers:
            yield f"{_MARKS[verdict]} {escape(answer.question)} [dim]{escape(answer.said)}[/]"
    if report.dollars is not None:
        yield ""
        yield f"The deployed stack cost {report.dollars:.2f} US dollars."
    if report.interrupted:
        yield ""
        yield "[red]The run was interrupted: the other questions were not asked.[/]"


def _summed_up(answers: list[Answer]) -> Iterator[str]:
    """Yields a line for each promise that answers confirm; the JSON has each answer."""
    guards = Counter(answer.guards for answer in answers)
    for guarded, number in guards.items():
        yield f"{_MARKS[Verdict.CONFIRMED]} {escape(guarded)} [dim]({number})[/]"
