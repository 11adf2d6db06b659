"""One run from the first question to the last thing deleted."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from once.embedded.deploy import Target
from once.errors import OnceError
from once.prove import (
    alarms,
    changes,
    cost,
    definition,
    deployed,
    policies,
    rule,
    sink,
    throwaway,
    waiting,
)
from once.prove.question import Answer, Question, Verdict, put
from once.prove.report import Report, made
from once.prove.site import Site
from once.prove.throwaway import Deployed


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


@dataclass(frozen=True)
class Deployment:
    """That a stack is to be deployed, from where, and how long messages are handed back in it."""

    target: Target
    hours: float


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
        with throwaway.deployed(site, deployment.target) as stack:
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
