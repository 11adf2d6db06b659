"""One run from the first question to the last thing deleted."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from once.errors import OnceError
from once.local.deploy import Target
from proof.prove import (
    alarms,
    changes,
    cost,
    definition,
    deployed,
    execution_log,
    failures,
    metrics,
    policies,
    rule,
    sink,
    throwaway,
    waiting,
)
from proof.prove.question import Answer, Question, Verdict, put
from proof.prove.report import Report, made
from proof.prove.site import Site
from proof.prove.throwaway import Deployed


def questions() -> list[Question]:
    """Those that need nothing deployed."""
    return [
        *definition.questions(),
        *rule.questions(),
        *policies.questions(),
        *changes.questions(),
    ]


def of_deployed(stack: Deployed, hours: float) -> Iterator[Question]:
    yield from deployed.questions(stack)
    yield from sink.questions(stack)
    yield from alarms.questions(stack)
    yield from waiting.questions(stack, hours)
    yield from metrics.questions(stack)
    yield from failures.questions(stack)
    yield from execution_log.questions(stack)


@dataclass(frozen=True)
class Deployment:
    """Says that a stack is deployed, from where, how long messages are returned to its queue, and
    with which key of one's own, if any."""

    target: Target
    hours: float
    key: str = ""


def run(site: Site, asked: Sequence[Question], deployment: Deployment | None = None) -> Report:
    """Puts the questions. Whatever happens, what was created is deleted; an interruption is in the
    report, and the questions that were answered by then."""
    started, answers = datetime.now(UTC), list[Answer]()
    interrupted = False
    try:
        for answer in _put_all(site, asked, deployment):
            answers.append(answer)  # one by one, since those before an interruption count
    except KeyboardInterrupt:
        interrupted = True
    finally:
        try:
            site.clean()
        finally:
            site.ledger.release()
    return made(site, started, answers, interrupted=interrupted)


def _put_all(
    site: Site, asked: Sequence[Question], deployment: Deployment | None
) -> Iterator[Answer]:
    for number, question in enumerate(asked, start=1):
        site.step(f"{number} of {len(asked)}: {question.name}")
        yield put(question, site)
    if deployment is None:
        return
    started = time.monotonic()
    try:
        with throwaway.deployed(site, deployment.target, deployment.key) as stack:
            for question in of_deployed(stack, deployment.hours):
                site.step(question.name)
                yield put(question, site)
            site.dollars = cost.read_back(stack)
    except OnceError as error:
        yield Answer(
            question="deployed",
            guards="the template can be deployed",
            verdict=Verdict.DIFFERS,
            said=str(error),
            seconds=round(time.monotonic() - started, 3),
        )
