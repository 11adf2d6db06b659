"""Keeps a batch below what Step Functions takes, by moving the largest parts to the bucket."""

from collections.abc import Callable

from pydantic_core import to_json

from once_enrichment.collapse import delivery_of
from once_enrichment.contract import RetryReason
from once_enrichment.message import Element

Write = Callable[[str, bytes], dict[str, str]]  # object key, content; answers where it is

LIMIT_BYTES = 200 * 1024  # of 256 KiB: the machine adds verdicts of its own
_MOVABLE_BYTES = 1024  # a smaller part gains nothing by being replaced with its reference
_LONGEST_BUCKET = "b" * 63
_ASCII = bytes(range(128))


class WriteError(Exception):
    """The bucket did not take an object."""

    def __init__(self, reason: RetryReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def size(text: bytes) -> int:
    """Returns the most bytes that JSON text can take when another writer writes it again.

    Writers differ in spaces, in exponents (1e-7 or 1.0E-07), and in what they escape. Two bytes
    of UTF-8 or more become an escape of six, four bytes two of them.
    """
    growth = text.count(b",") + text.count(b":") + 2 * text.count(b"e") + 5 * text.count(b"\x7f")
    if not text.isascii():
        growth += 2 * len(text.translate(None, _ASCII))
    return len(text) + growth


def fit(
    elements: list[Element], texts: list[bytes], write: Write, limit: int = LIMIT_BYTES
) -> list[Element]:
    """Moves bodies and raw texts to the bucket until the elements fit, and returns them.

    `texts` are the elements as JSON.
    """
    sizes = [size(text) for text in texts]
    if sum(sizes) <= limit:
        return elements
    answer, parts = list(elements), {}
    for at in sorted(range(len(answer)), key=lambda at: -sizes[at]):
        if sum(sizes) <= limit:
            break
        moved = _moved(elements[at])
        if moved is None:
            continue
        moved_bytes = size(to_json(moved))
        if moved_bytes < sizes[at] - _MOVABLE_BYTES:
            answer[at], sizes[at], parts[at] = moved, moved_bytes, elements[at]
    for at, written in _write_side_by_side(parts, write).items():
        answer[at] = written
        sizes[at] = size(to_json(written))
    for at in reversed(range(len(answer))):
        if sum(sizes) <= limit:
            break
        answer[at] = returned(
            answer[at],
            RetryReason.BATCH_TOO_LARGE,
            "The batch is too large for the state machine even without bodies: lower BatchSize.",
        )
        sizes[at] = size(to_json(answer[at]))
    return answer


def _moved(element: Element, reference: dict[str, str] | None = None) -> Element | None:
    """Returns the element with a reference instead of its body or raw text, if it has one."""
    for part in ("body", "raw"):
        if part in element:
            rest = {name: value for name, value in element.items() if name != part}
            at = reference or {"bucket": _LONGEST_BUCKET, "key": _object_key(element)}
            return {**rest, f"{part}Ref": at}
    return None


def _object_key(element: Element) -> str:
    """Names an object by its message alone, so a redelivery writes the same one again."""
    if "body" in element:
        return f"events/{element['idempotencyKey']}/{element['messageId']}.json"
    return f"parked/{element['messageId']}.txt"


def _write_side_by_side(elements: dict[int, Element], write: Write) -> dict[int, Element]:
    """Writes the parts; an element whose part the bucket does not take returns to the queue."""
    if not elements:
        return {}
    # Rare, and would cost every cold start.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(len(elements)) as pool:
        written = pool.map(lambda element: _written(element, write), elements.values())
        return dict(zip(elements, written, strict=True))


def _written(element: Element, write: Write) -> Element:
    content = to_json(element["body"]) if "body" in element else element["raw"].encode()
    try:
        return _moved(element, write(_object_key(element), content)) or element
    except WriteError as error:
        return returned(element, error.reason, error.detail)


def returned(element: Element, reason: RetryReason, detail: str) -> Element:
    """Makes the element that returns a message to the queue."""
    return {
        **delivery_of(element),
        "kind": "retry",
        "subjectKey": element["messageId"],
        "reason": reason.value,
        "detail": detail,
    }
