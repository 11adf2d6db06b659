"""No message takes longer than its length explains: foreign text meets no slow algorithm."""

import importlib
import json
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import once_data_action
import once_enrichment
import once_pacing
import pytest
from once_enrichment import topics
from once_enrichment.batch import enrich

from tests.enrichment.examples import CONVERSATION, USER, conversation, event
from tests.enrichment.sending import elements, record

TIMES_LONGER = 8
# Linear time takes 8 times as long, and half as much again on a busy machine; quadratic takes 64.
MOST_TIMES_SLOWER = 20
LEAST_SECONDS = 0.0002  # what is faster cannot be measured


# The least of some runs counts: more is noise. What is quadratic is too slow in each of them.
RUNS, MOST_RUNS = 5, 20


def seconds(work: Callable[[], Any]) -> float:
    """Returns the processor time that the work takes."""
    start = time.thread_time()
    work()
    return time.thread_time() - start


def is_linear(short: Callable[[], Any], long: Callable[[], Any]) -> bool:
    """Compares the work on a text with the work on one so many times longer."""
    least = min(seconds(short) for _ in range(RUNS))
    most = MOST_TIMES_SLOWER * max(LEAST_SECONDS, least)
    return any(seconds(long) <= most for _ in range(MOST_RUNS))


def grows_linearly(work: Callable[[str], Any], text: str, chars: int) -> bool:
    short = (text * chars)[:chars]
    return is_linear(lambda: work(short), lambda: work(short * TIMES_LONGER))


OF_THE_DEPLOYER = {"once_data_action.settings"}


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every regular expression of the functions that meets what others than the deployer wrote."""
    for package in (once_enrichment, once_data_action, once_pacing):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if found.name in OF_THE_DEPLOYER:
                continue
            for name, value in vars(importlib.import_module(found.name)).items():
                pattern = getattr(value, "__self__", value)
                if isinstance(pattern, re.Pattern):
                    yield f"{found.name}.{name}", pattern


PATTERNS = dict(patterns())
TEXTS = ("a", "0", "a0", ".", "-", "a.", " ", "~@", "Ä", "A.b", "{id}", "a1-", "\n", "2025-", "T:Z")
# What a destination, a login and a mapping say: numbers, words with dots, ids, places in a file.
TEXTS += (
    "0.",
    "a0-",
    "00000000-",
    "0000-",
    " (at line 0",
    "(at line 0, column ",
    "A_z.",
    "http://",
)


def test_the_regular_expressions_are_found() -> None:
    assert {
        "once_enrichment.topics._AN_ID",
        "once_enrichment.keys._MACHINE_MADE",
        "once_data_action.replies._SECONDS",
        "once_data_action.genesys._CORRELATION",
        "once_enrichment.routes_file._SOURCE",
    } <= PATTERNS.keys()


@pytest.mark.parametrize("name", PATTERNS)
def test_every_regular_expression_takes_linear_time(name: str) -> None:
    pattern = PATTERNS[name]
    for text in TEXTS:
        for use in (pattern.fullmatch, pattern.search, lambda t: pattern.sub("", t)):
            assert grows_linearly(use, text, 4_000), text


def test_a_quadratic_regular_expression_would_be_noticed() -> None:
    assert not grows_linearly(re.compile("a*b").search, "a", 2_000)


def test_a_topic_of_many_slots_takes_linear_time() -> None:
    """Lazy groups, of which the message itself says how many, took 20 s for nine and 1 KB."""
    for slots in (4, 9, 60):
        template = ".a".join([topics.SLOT] * slots) + ".b"
        assert grows_linearly(lambda topic, t=template: topics.slots(t, topic), "x.a", 8_000)


def test_a_hostile_topic_delays_its_batch_by_nothing() -> None:
    template = "v2." + ".a".join(["{id}"] * 80) + ".b"
    hostile = event(template, {"status": "x"})
    hostile["detail"]["topicName"] = "v2." + "x.a" * 160
    start = time.thread_time()
    answer = elements(record(hostile, "hostile"), record(conversation("user.start"), "good"))
    assert time.thread_time() - start < 0.5
    assert [one["messageId"] for one in answer] == ["hostile", "good"]


HOSTILE: dict[str, Callable[[int], Any]] = {
    "many fields": lambda n: {f"field{i}Id": "x" for i in range(n // 16)},
    "one long text": lambda n: {"status": "x" * n},
    "a long number in text": lambda n: {"eventTime": "9" * n},
    "a long list": lambda n: {"participants": [{"id": str(i)} for i in range(n // 16)]},
    "many zeros": lambda n: {"note": [10**18] * (n // 20)},
    "escapes": lambda n: {"attributes": "\u0001" * (n // 6)},
    "names that mean nothing": lambda n: {"/" * (n // 2): "~" * (n // 2)},
}
SHAPES: dict[str, Callable[[Any], Any]] = {
    "a step": lambda body: conversation("attributes", **body),
    "a snapshot": lambda body: event(
        "v2.users.{id}.conversations", {"id": CONVERSATION, **body}, USER
    ),
    "an unknown topic": lambda body: event("v2.some.{id}.things", body, USER),
    "an event of one's own": lambda body: {
        "detail-type": "x y",
        "detail": {"conversationId": "c", **body},
    },
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_message_takes_linear_time(shape: str, kind: str) -> None:
    def work(size: int) -> Callable[[], Any]:
        text = json.dumps(SHAPES[shape](HOSTILE[kind](size)))
        return lambda: enrichment_of(text)

    assert is_linear(work(12_000), work(12_000 * TIMES_LONGER))


def enrichment_of(text: str) -> Any:
    def somewhere(key: str, _content: bytes) -> dict[str, str]:
        return {"bucket": "overflow", "key": key}

    return enrich([record(text)], somewhere)
