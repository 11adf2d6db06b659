"""Runs an audit: reads ahead, lets other processes read each event, and judges in order."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context

from once.audit.capture import Capture, Place, Text
from once.audit.facts import Facts, Recorded, facts
from once.audit.memory import database
from once.audit.shapes import Shapes
from once.audit.shown import Shown
from once.audit.tally import Counts, Tally
from once.records import OutcomeRecord

_TEXTS = 1_000
_CHARS = 4_000_000
_ALONE_BYTES = 4_000_000  # less is read before another process has started
_AHEAD = 3  # chunks for each process

Progress = Callable[[int], None]


def audit_capture(
    capture: Capture,
    claim_days: int,
    shown: Shown,
    progress: Progress,
    *,
    with_shapes: bool = False,
) -> tuple[Counts, Shapes]:
    """Counts all of a capture; `progress` hears how many of its bytes are done."""
    shapes = Shapes()
    chunks = _chunks(capture.texts(progress))
    with database() as connection:
        tally = Tally(connection, claim_days, shown)
        for found in _read(chunks, capture.size, with_shapes):
            tally.add(found.found)
            shapes.add(found.fields)
        return tally.finish(), shapes


def audit_log(records: Iterable[OutcomeRecord], claim_days: int) -> Counts:
    """Counts what the outcome log of a stack tells."""
    with database() as connection:
        tally = Tally(connection, claim_days, Shown(with_ids=False))
        numbered = (Recorded(Place(0, at, 1), record) for at, record in enumerate(records, 1))
        while chunk := list(islice(numbered, _TEXTS)):
            tally.add(chunk)
        return tally.finish()


def _read(chunks: Iterator[list[Text]], size: int | None, with_shapes: bool) -> Iterator[Facts]:
    """The facts of each chunk, in their order."""
    if size is not None and size < _ALONE_BYTES:
        for chunk in chunks:
            yield facts(chunk, with_shapes=with_shapes)
        return
    processes = max(1, min(8, os.cpu_count() or 1))
    # A fork would take the threads of the progress bar for its own.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting: deque[Future[Facts]] = deque()
        for chunk in chunks:
            waiting.append(pool.submit(facts, chunk, with_shapes=with_shapes))
            if len(waiting) >= processes * _AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _chunks(texts: Iterator[Text]) -> Iterator[list[Text]]:
    chunk: list[Text] = []
    chars = 0
    for text in texts:
        chunk.append(text)
        chars += len(text.text)
        if len(chunk) >= _TEXTS or chars >= _CHARS:
            yield chunk
            chunk, chars = [], 0
    if chunk:
        yield chunk
