"""A batch never passes what Step Functions takes, and nothing is lost on the way there."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Barrier, Lock, Thread
from typing import Any, ClassVar

import boto3
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from moto import mock_aws
from once_enrichment import bucket, handler
from once_enrichment.batch import enrich
from once_enrichment.elements import RetryReason
from once_enrichment.overflow import LIMIT_BYTES, WriteError, fit, size
from pydantic_core import to_json

from proof.template import TEMPLATE
from tests.enrichment.examples import conversation
from tests.enrichment.sending import SENT_MS, elements, record

STEP_FUNCTIONS_BYTES = 262_144


class Bucket:
    """Keeps what is written in memory, up to a number of objects."""

    def __init__(self, room: int = 100) -> None:
        self.objects: dict[str, bytes] = {}
        self._room = room
        self._lock = Lock()

    def write(self, key: str, content: bytes) -> dict[str, str]:
        with self._lock:
            if len(self.objects) >= self._room:
                raise WriteError(RetryReason.OVERFLOW_FAILED, "There is no more room.")
            self.objects[key] = content
        return {"bucket": "overflow", "key": key}


def large(chars: int, number: int = 0, text: str = "x") -> dict[str, Any]:
    return conversation("attributes", participantId=f"p{number}", attributes={"a": text * chars})


def worst(value: Any) -> int:
    """The longest of the ways to write it."""
    return max(
        len(json.dumps(value, ensure_ascii=ascii_only).encode()) for ascii_only in (True, False)
    )


def test_small_batches_write_nothing() -> None:
    elements(*(record(large(2_000, n), str(n)) for n in range(10)))


def test_a_batch_over_256_kib_keeps_its_bodies_in_the_bucket() -> None:
    kept = Bucket()
    sizes = [10_000, 90_000, 120_000, 500, 80_000]
    answer = enrich([record(large(s, n), str(n)) for n, s in enumerate(sizes)], kept.write)
    assert worst(answer) < STEP_FUNCTIONS_BYTES
    assert ["bodyRef" in one for one in answer] == [False, False, True, False, False]
    moved = answer[2]
    assert "body" not in moved
    key = moved["bodyRef"]["key"]
    assert key == f"events/{moved['idempotencyKey']}/2.json"
    assert json.loads(kept.objects[key]) == large(sizes[2], 2)["detail"]["eventBody"]


@pytest.mark.parametrize("text", ["x", "ä", "語", "\U0001f512", "\u0001", '"', "/"])
def test_a_megabyte_of_any_character(text: str) -> None:
    kept = Bucket()
    event = large(1_000_000 // len(json.dumps(text)), text=text)
    (one,) = enrich([record(event)], kept.write)
    assert "bodyRef" in one
    assert worst([one]) < STEP_FUNCTIONS_BYTES
    assert json.loads(kept.objects[one["bodyRef"]["key"]]) == event["detail"]["eventBody"]


def test_the_raw_text_of_a_parked_message_overflows_too() -> None:
    kept = Bucket()
    text = "no json " * 130_000
    (one,) = enrich([record(text, "id")], kept.write)
    assert one["rawRef"] == {"bucket": "overflow", "key": "parked/id.txt"}
    assert kept.objects["parked/id.txt"].decode() == text


def test_a_failed_write_hands_back_that_event_only() -> None:
    small = record(conversation("user.start"), "small")
    kept = Bucket()

    def write(key: str, content: bytes) -> dict[str, str]:
        if key.endswith("/b.json"):
            raise WriteError(RetryReason.OVERFLOW_FAILED, "There is no more room.")
        return kept.write(key, content)

    answer = enrich([record(large(300_000, 1), "a"), small, record(large(300_000, 2), "b")], write)
    assert [one["kind"] for one in answer] == ["event", "event", "retry"]
    assert answer[2] == {
        "messageId": "b",
        "kind": "retry",
        "receiptHandle": "handle-of-b",
        "receives": 1,
        "sentAtMs": SENT_MS,
        "subjectKey": "b",
        "reason": "OVERFLOW_FAILED",
        "detail": "There is no more room.",
    }


def test_large_bodies_are_written_side_by_side() -> None:
    """One after the other, ten slow writes would outlast the function."""
    together = Barrier(10)

    def write(key: str, _content: bytes) -> dict[str, str]:
        together.wait(timeout=10)
        return {"bucket": "overflow", "key": key}

    answer = enrich([record(large(300_000, n), str(n)) for n in range(10)], write)
    assert all("bodyRef" in one for one in answer)


def test_a_redelivery_writes_the_same_object_again() -> None:
    first, second = Bucket(), Bucket()
    for one in (first, second):
        enrich([record(large(300_000), "id")], one.write)
    assert first.objects == second.objects


def test_what_does_not_fit_even_without_bodies_goes_back() -> None:
    batch = [record(large(1, n), f"{n:0100}") for n in range(300)]
    answer = enrich(batch, Bucket(0).write)
    assert worst(answer) < STEP_FUNCTIONS_BYTES
    assert answer[0]["kind"] == "event"
    assert answer[-1]["reason"] == "BATCH_TOO_LARGE"


def test_long_ids_and_traces_are_cut_but_not_in_the_key() -> None:
    hostile = conversation("user.start", conversationId="c" * 100_000, userId="u" * 100_000)
    other = conversation("user.start", conversationId="c" * 100_000 + "d", userId="u" * 100_000)
    hostile["detail"]["topicName"] = other["detail"]["topicName"] = "v2.hostile"
    hostile["id"] = "i" * 100_000
    hostile["detail"]["metadata"]["CorrelationId"] = "\U0001f512" * 100_000
    kept = Bucket()
    one, two = enrich([record(hostile, "1"), record(other, "2")], kept.write)
    for element in (one, two):
        assert worst({name: part for name, part in element.items() if name != "body"}) < 12_500
    assert len(one["subject"]["id"]) == 160
    assert one["key"]["pk"] != two["key"]["pk"]


@settings(max_examples=60)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["x", "ä", "\U0001f512", "\u0001", "1e15,"]), st.integers(0, 80_000)
        ),
        min_size=1,
        max_size=10,
    ),
    st.integers(0, 10),
)
def test_no_batch_passes_the_limit(sizes: list[tuple[str, int]], room: int) -> None:
    batch = []
    for number, (text, chars) in enumerate(sizes):
        event = json.dumps(large(0, number), ensure_ascii=number % 2 == 0)
        inside = f"[{(text * chars)[:-1]}]" if text == "1e15," else json.dumps(text * chars)
        batch.append(record(event.replace('{"a": ""}', f'{{"a": {inside or 0}}}'), str(number)))
    answer = enrich(batch, Bucket(room).write)
    assert [one["messageId"] for one in answer] == [one["messageId"] for one in batch]
    assert worst(answer) <= LIMIT_BYTES < STEP_FUNCTIONS_BYTES


@given(
    st.recursive(
        st.text() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_the_size_is_never_less_than_what_is_written(value: Any) -> None:
    text = to_json(value)
    assert size(text) >= worst(value)


def test_fit_leaves_alone_what_fits() -> None:
    answer = elements(record(large(100_000)))
    assert fit(answer, [to_json(one) for one in answer], Bucket(0).write) is answer


def test_fit_counts_the_references_as_they_were_written() -> None:
    """They are shorter than reserved: few buckets have a name of 63 characters."""
    whole = elements(record(large(100_000)))
    texts = [to_json(one) for one in whole]
    (written,) = fit(whole, texts, Bucket().write, limit=size(texts[0]) - 1)
    assert fit(whole, texts, Bucket().write, limit=size(to_json(written))) == [written]


@mock_aws
def test_the_handler_writes_to_the_bucket_of_its_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OVERFLOW_BUCKET", "overflow")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    s3 = boto3.client("s3", region_name="us-east-1")
    s3.create_bucket(Bucket="overflow")
    monkeypatch.setattr(bucket, "_client", lambda: s3)
    (one,) = handler.handler([record(large(300_000))], None)
    assert one["bodyRef"]["bucket"] == "overflow"
    stored = s3.get_object(Bucket="overflow", Key=one["bodyRef"]["key"])["Body"].read()
    assert json.loads(stored)["attributes"] == {"a": "x" * 300_000}


@mock_aws
def test_a_bucket_that_is_not_there_hands_the_event_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERFLOW_BUCKET", "missing")
    monkeypatch.setattr(bucket, "_client", lambda: boto3.client("s3", region_name="us-east-1"))
    (one,) = handler.handler([record(large(300_000), "id")], None)
    assert (one["kind"], one["reason"]) == ("retry", "OVERFLOW_FAILED")
    assert "missing did not take events/" in one["detail"]


class Unwell(BaseHTTPRequestHandler):
    """A store that answers each write with a fault of its own."""

    writes: ClassVar[list[str]] = []

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.writes.append(self.path)
        self.send_response(503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def test_a_bucket_that_fails_is_asked_once_more_and_the_event_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Unwell) as server:
        Thread(target=server.serve_forever).start()
        for name, value in {
            "OVERFLOW_BUCKET": "overflow",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
            "AWS_DEFAULT_REGION": "eu-central-1",
            "AWS_ACCESS_KEY_ID": "x",
            "AWS_SECRET_ACCESS_KEY": "x",
        }.items():
            monkeypatch.setenv(name, value)
        bucket._client.cache_clear()
        try:
            (one,) = handler.handler([record(large(300_000), "id")], None)
        finally:
            bucket._client.cache_clear()
            server.shutdown()
    assert (one["kind"], one["reason"]) == ("retry", "OVERFLOW_FAILED")
    first, second = Unwell.writes
    assert first == second
    assert first.startswith("/overflow/events/")


def test_a_bucket_that_hangs_leaves_the_enrichment_time_to_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    bucket._client.cache_clear()
    config = bucket._client().meta.config
    bucket._client.cache_clear()
    longest = config.retries["total_max_attempts"] * (config.connect_timeout + config.read_timeout)
    assert longest < TEMPLATE["Mappings"]["Durations"]["production"]["Enrichment"]


def test_without_a_bucket_it_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OVERFLOW_BUCKET", raising=False)
    (one,) = handler.handler([record(large(300_000), "id")], None)
    assert (one["kind"], one["reason"]) == ("retry", "OVERFLOW_NOT_CONFIGURED")
    assert "OVERFLOW_BUCKET" in one["detail"]


def test_metadata_longer_than_any_of_genesys_is_left_out_and_said() -> None:
    long = conversation("user.start")
    long["detail"]["metadata"]["action"] = "x" * 5_000
    (one,) = elements(record(long))
    assert one["kind"] == "event"
    assert "metadata" not in one
    assert one["note"] == "metadata too long"
