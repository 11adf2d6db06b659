"""Keeps a batch below what Step Functions takes, by moving the largest parts to the bucket."""

from collections.abc import Callable
from typing import Any

from pydantic_core import to_json

from enrichment.words import DeferredReason

Element = dict[str, Any]
Write = Callable[[str, bytes], dict[str, str]]  # object key, content; answers where it is

LIMIT_BYTES = 200 * 1024  # of 256 KiB: the machine adds lanes and verdicts of its own
_MOVABLE_BYTES = 1024  # a smaller part gains nothing by being replaced with its reference


class WriteError(Exception):
    """The bucket did not take an object."""

    def __init__(self, reason: DeferredReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def size(value: Any) -> int:
    """The most bytes that `value` can take as JSON text.

    Writers differ in spaces, in exponents (1e-7 or 1.0E-07), and in what they escape.
    """
    text = to_json(value)
    growth = text.count(b",") + text.count(b":") + 2 * text.count(b"e") + 5 * text.count(b"\x7f")
    if text.isascii():
        return len(text) + growth
    # Escaped, each UTF-16 unit of a character beyond ASCII takes the six bytes of \\uXXXX.
    plain = text.decode()
    ascii_chars = len(plain.encode("ascii", "ignore"))
    units = len(plain.encode("utf-16-le")) // 2
    return ascii_chars + 6 * (units - ascii_chars) + growth


def fit(elements: list[Element], write: Write, limit: int = LIMIT_BYTES) -> list[Element]:
    """The elements, with as many bodies and raw texts in the bucket as it takes to fit."""
    if size(elements) <= limit:
        return elements
    sizes = [size(element) for element in elements]
    answer = list(elements)
    largest_first = sorted(range(len(answer)), key=lambda at: -_movable(answer[at]))
    for at in largest_first:
        if sum(sizes) <= limit or _movable(answer[at]) <= _MOVABLE_BYTES:
            break
        answer[at] = _moved(answer[at], write)
        sizes[at] = size(answer[at])
    for at in reversed(range(len(answer))):
        if sum(sizes) <= limit:
            break
        answer[at] = _deferred(
            answer[at],
            DeferredReason.BATCH_TOO_LARGE,
            "The batch is too large for the state machine even without bodies: lower BatchSize.",
        )
        sizes[at] = size(answer[at])
    return answer


def _movable(element: Element) -> int:
    return size(element.get("body", element.get("raw", "")))


def _moved(element: Element, write: Write) -> Element:
    """The element with a reference instead of its body or raw text.

    The object's key depends on the message alone, so a redelivery writes the same object again.
    """
    rest = dict(element)
    try:
        if "body" in rest:
            key = f"events/{rest['idempotencyKey']}/{rest['messageId']}.json"
            rest["bodyRef"] = write(key, to_json(rest.pop("body")))
        else:
            rest["rawRef"] = write(f"parked/{rest['messageId']}.txt", rest.pop("raw").encode())
    except WriteError as error:
        return _deferred(element, error.reason, error.detail)
    return rest


def _deferred(element: Element, reason: DeferredReason, detail: str) -> Element:
    message_id = element["messageId"]
    return {
        "messageId": message_id,
        "kind": "deferred",
        "lane": message_id,
        "reason": reason.value,
        "detail": detail,
    }
