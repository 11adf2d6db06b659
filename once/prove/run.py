"""One run from the first question to the last thing deleted."""

from collections.abc import Sequence
from datetime import UTC, datetime

from once.prove import changes, definition, policies, rule
from once.prove.question import Answer, Question, put
from once.prove.report import Report, made
from once.prove.site import Site


def questions() -> list[Question]:
    """Those that need nothing deployed."""
    return [
        *definition.questions(),
        *rule.questions(),
        *policies.questions(),
        *changes.questions(),
    ]


def run(site: Site, asked: Sequence[Question]) -> Report:
    """Puts the questions. Whatever happens, what was created is deleted; an interruption is in the
    report, and the questions that were answered by then."""
    started, answers = datetime.now(UTC), list[Answer]()
    interrupted = False
    try:
        for number, question in enumerate(asked, start=1):
            site.step(f"{number} of {len(asked)}: {question.name}")
            answers.append(put(question, site))
    except KeyboardInterrupt:
        interrupted = True
    finally:
        site.clean()
    return made(site.run, site.place, started, answers, interrupted=interrupted)
