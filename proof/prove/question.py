"""A question to AWS, and what counts as an answer.

Each is asked twice, first with something broken in it. Only a service that tells the two apart has
looked, and only then does it count whether its answer is ours.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from botocore.exceptions import ClientError

from once.operate import refusals
from once.operate.model import Model
from proof.prove.site import Site

Json = Any
# Times that AWS reads off its own clock differ by the way to it.
_CLOCK_MS = 30_000
_A_TIME_MS = 1_600_000_000_000
_SHOWN = 200


class Verdict(StrEnum):
    """The value of an answer."""

    CONFIRMED = "confirmed"
    DIFFERS = "differs"
    NOT_ANSWERED = "not answered"


class Answer(Model):
    """One question and what came of it."""

    question: str
    guards: str
    verdict: Verdict
    said: str
    seconds: float


class UnansweredError(Exception):
    """The service does not answer the question, for the given reason."""


@dataclass(frozen=True)
class Question:
    """`ask` gets the place to ask, and if it must break the thing first."""

    name: str
    guards: str
    ask: Callable[[Site, bool], Json]
    expected: Json


def put(question: Question, site: Site) -> Answer:
    started = time.monotonic()
    verdict, said = _judged(question, site)
    return Answer(
        question=question.name,
        guards=question.guards,
        verdict=verdict,
        said=said,
        seconds=round(time.monotonic() - started, 3),
    )


def _judged(question: Question, site: Site) -> tuple[Verdict, str]:
    try:
        broken = _asked(question, site, True)
        answer = _asked(question, site, False)
    except UnansweredError as unanswered:
        return Verdict.NOT_ANSWERED, str(unanswered)
    apart = list(differences(question.expected, answer))
    alike = not any(differences(broken, answer)) and not any(differences(answer, broken))
    # Answers that are not expected, such as a number that differs each time, tell nothing apart.
    if alike or not (apart or any(differences(question.expected, broken))):
        said = f"the same is answered to something broken: {shown(answer)}"
        return Verdict.NOT_ANSWERED, said
    if apart:
        return Verdict.DIFFERS, "; ".join(apart)
    return Verdict.CONFIRMED, f"{shown(answer)}; broken: {shown(broken)}"


def _asked(question: Question, site: Site, broken: bool) -> Json:
    try:
        return question.ask(site, broken)
    except ClientError as refusal:
        said = refusal.response["Error"]
        if said["Code"] in refusals.UNKNOWN_CREDENTIALS | refusals.OLD_CREDENTIALS:
            raise  # nothing more can be asked with these
        if said["Code"] in refusals.NO_RIGHT:
            raise UnansweredError(
                f"these credentials lack a permission: {said['Message']}"
            ) from None
        return {"refused": said["Code"], "because": said.get("Message", "")}


def differences(expected: Json, answer: Json, at: str = "") -> Iterator[str]:
    """Yields the places at which an answer differs from what is expected; it may have more."""
    if isinstance(expected, dict) and isinstance(answer, dict):
        for name, value in expected.items():
            place = f"{at}/{name}" if at else name
            if name in answer:
                yield from differences(value, answer[name], place)
            elif value is not None:
                yield f"{place} is missing, expected {shown(value)}"
    elif _is_list(expected) and _is_list(answer) and len(expected) == len(answer):
        for number, (one, other) in enumerate(zip(expected, answer, strict=True)):
            yield from differences(one, other, f"{at}[{number}]")
    elif expected != answer and not _same_time(expected, answer):
        yield f"{at or 'answer'} is {shown(answer)}, expected {shown(expected)}"


def _is_list(value: Json) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _same_time(one: Json, other: Json) -> bool:
    """Both times of these years, in milliseconds or in seconds, and close to each other."""
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (one, other)):
        return False
    for unit_ms in (1, 1_000):
        if min(one, other) * unit_ms > _A_TIME_MS and max(one, other) < _A_TIME_MS * 2:
            return bool(abs(one - other) * unit_ms <= _CLOCK_MS)
    return False


def shown(value: Json) -> str:
    from json import dumps

    text = value if isinstance(value, str) else dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
