"""The fuzzer's short run; its long one is recorded in bench/results/fuzz.json."""

from tests.enrichment.examples import conversation
from tests.enrichment.fuzz import fuzz, hold
from tests.enrichment.sending import record

MESSAGES = 3_000


def test_no_broken_event_breaks_a_promise() -> None:
    kinds = fuzz(MESSAGES)
    assert kinds["event"] > MESSAGES / 4, "most of what is broken is still an event"
    assert kinds["copy"] > MESSAGES / 20
    assert kinds["parked NOT_JSON"] > MESSAGES / 50


def test_the_fuzzer_would_notice() -> None:
    assert hold([record(conversation("user.start"))]) == ["event"]
