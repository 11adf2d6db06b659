"""The fuzzer's short run; `make fuzz` is its long one."""

import itertools
import secrets
from typing import Any

import pytest
from once_enrichment.batch import enrich

from tests.enrichment import fuzz
from tests.enrichment.examples import conversation
from tests.enrichment.sending import record

MESSAGES = 600
COUNTER = itertools.count()


def test_no_broken_event_breaks_a_promise() -> None:
    kinds = fuzz.fuzz(MESSAGES, secrets.randbelow(2**32))
    assert kinds["event"] > MESSAGES / 4, "most of what is broken is still an event"
    assert kinds["copy"] > MESSAGES / 20
    assert kinds["parked NOT_JSON"] > MESSAGES / 50


BREAKS = {
    "a message is lost": lambda answer: answer[1:],
    "a message is there twice": lambda answer: [*answer, answer[0]],
    "another id": lambda answer: [answer[0] | {"messageId": "another"}],
    "no kind of element": lambda answer: [answer[0] | {"kind": "lost"}],
    "a field nobody declared": lambda answer: [answer[0] | {"mood": "good"}],
    "a number that is none": lambda answer: [answer[0] | {"body": {"a": float("nan")}}],
    "too large": lambda answer: [answer[0] | {"body": {"a": "x" * 300_000}}],
    "a key too long": lambda answer: [answer[0] | {"key": {"pk": "a", "sk": "x" * 1025}}],
    "another answer the second time": lambda answer: [answer[0] | {"note": str(next(COUNTER))}],
    "it cannot even be normalised": lambda answer: [answer[0] | {"reason": "UNEXPECTED"}],
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_promise_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch: list[Any] = [record(conversation("user.start"))]
    assert fuzz.hold(batch) == ["event"]
    monkeypatch.setattr(fuzz, "enrich", lambda some, write: BREAKS[name](enrich(some, write)))
    with pytest.raises((AssertionError, ValueError)):
        fuzz.hold(batch)
