"""The probe counts and breaks what it should in the emulator, on the real stack."""

from collections import Counter
from collections.abc import Iterator

import pytest

from bench.compare.streams import DIES_BEFORE_ACT, STORE_ANSWER_LOST
from bench.cost import messages
from bench.events import START_MS, Centre, text
from bench.stack import Seen, cause_faults, probed_stack
from once.local.pipe import Ending, PipeRunner
from once.local.stack import LocalStack

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with probed_stack(lambda _: {}) as started:
        started.pipe.stop()
        yield started


@pytest.fixture
def pipe(stack: LocalStack) -> PipeRunner:
    return PipeRunner(stack.client, stack.outputs["PipeName"])


def operations(stack: LocalStack, since: int) -> Counter[str]:
    return Counter(call["operation"] for call in Seen.read(stack.aws).store[since:])


def test_the_probe_counts_store_requests_of_an_event_and_its_copy(
    stack: LocalStack, pipe: PipeRunner
):
    body = text(Centre(1).conversation("acd.end", START_MS))
    assert pipe.run_batch(messages([body])).ending is Ending.SUCCEEDED
    first = operations(stack, 0)
    assert (first["putItem"], first["updateItem"]) == (1, 1)
    before = len(Seen.read(stack.aws).store)
    pipe.run_batch(messages([body]))
    copy = Seen.read(stack.aws).store[before:]
    assert [call["refused"] for call in copy if call["operation"] == "putItem"] == [True]
    assert sum(call["write"] for call in copy) == 1


def test_an_execution_that_dies_leaves_its_event_on_the_queue_and_calls_nobody(
    stack: LocalStack, pipe: PipeRunner
):
    batch = messages([text(Centre(2).conversation("acd.end", START_MS))])
    cause_faults(stack.aws, {DIES_BEFORE_ACT: [batch[0]["MessageId"]]})
    called = len([f for f in Seen.read(stack.aws).functions if "DataAction" in f["name"]])
    ended = pipe.run_batch(batch)
    assert ended.ending is Ending.TARGET_FAILED
    assert not ended.deleted
    seen = Seen.read(stack.aws)
    assert len([f for f in seen.functions if "DataAction" in f["name"]]) == called
    assert seen.executions[-1]["status"] == "FAILED"


def test_a_lost_answer_of_the_store_is_put_again_and_the_event_acts(
    stack: LocalStack, pipe: PipeRunner
):
    batch = messages([text(Centre(3).conversation("acd.end", START_MS))])
    cause_faults(stack.aws, {STORE_ANSWER_LOST: [batch[0]["MessageId"]]})
    before = len(Seen.read(stack.aws).store)
    assert pipe.run_batch(batch).ending is Ending.SUCCEEDED
    assert operations(stack, before)["putItem"] == 2
