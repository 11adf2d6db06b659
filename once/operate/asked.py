"""Says of an event for which the destination was asked more than once: how often, when, why again,
under which Idempotency-Key, and what that means."""

from collections.abc import Iterable, Iterator, Sequence

from pydantic import Field

from once.operate import phrases as words
from once.operate.model import Model
from once.records import OutcomeRecord
from once.run.report import Outcome

# The destination answered that it did nothing.
_REFUSED = {"RATE_LIMITED", "REJECTED", "SETUP_FAULT"}


class Call(Model):
    """A delivery in which the destination was called."""

    at_ms: int
    message_id: str
    calls: int
    reason: str | None
    status: int | None
    cause: str | None
    idempotency_key: str | None = Field(description="Known of calls that acted.")


class Asked(Model):
    times: int
    calls: list[Call]
    keys: list[str] = Field(description="The Idempotency-Keys that were sent.")
    meaning: str


def asked(
    records: Iterable[OutcomeRecord], key: str | None, forgotten_at_ms: int | None
) -> Asked | None:
    """Of all records of one event; None where it was asked once or never.

    `key` is what would be sent now, and `forgotten_at_ms` when somebody opened the claim on
    purpose.
    """
    called = sorted(
        (record for record in records if record.calls), key=lambda one: one.recorded_at_ms
    )
    times = sum(record.calls or 0 for record in called)
    if times < 2:
        return None
    keys = list(dict.fromkeys(one.idempotency_key for one in called if one.idempotency_key))
    if not keys and key is not None:
        keys = [key]
    return Asked(
        times=times,
        calls=[
            Call(
                at_ms=one.recorded_at_ms,
                message_id=one.message_id,
                calls=one.calls or 0,
                reason=one.reason,
                status=one.status,
                cause=one.cause,
                idempotency_key=one.idempotency_key,
            )
            for one in called
        ],
        keys=keys,
        meaning=_meaning(called, keys, forgotten_at_ms),
    )


def view(found: Asked) -> Iterator[str]:
    """One line for the whole, one for each delivery, one for what it means."""
    yield f"the destination was asked {found.times} times:"
    for call in found.calls:
        yield f"  {words.clock(call.at_ms)[:8]} {_said(call)}"
    if len(found.keys) == 1:
        yield f"Idempotency-Key {found.keys[0]}, the same each time"
    for number, key in enumerate(found.keys if len(found.keys) > 1 else ()):
        yield f"Idempotency-Key of act {number + 1}: {key}"
    yield found.meaning


def _said(call: Call) -> str:
    times = f", called {call.calls} times" if call.calls > 1 else ""
    if call.idempotency_key:
        return f"it acted{times}"
    answer = call.cause or (f"HTTP {call.status}" if call.status else "no answer")
    reason = words.reason(call.reason)
    return f"{reason}: {answer}{times}" if reason else f"{answer}{times}"


def _meaning(
    called: Sequence[OutcomeRecord], keys: Sequence[str], forgotten_at_ms: int | None
) -> str:
    acts = [one for one in called if one.outcome is Outcome.PROCESSED]
    if len(keys) > 1:
        when = f" on {words.moment(forgotten_at_ms)[:19]} UTC" if forgotten_at_ms else ""
        return f"somebody opened it on purpose{when} (once forget): it acted again, as a new one"
    if len(acts) > 1:
        lost = "the mark of the first was lost" if acts[0].unmarked else "its claim had ended"
        return (
            f"it acted again, since {lost}: a destination that does not remember keys acted twice"
        )
    unsure = [one for one in called if one not in acts and one.reason not in _REFUSED]
    if unsure or any((one.calls or 0) > 1 for one in acts):
        return (
            "if a call that failed acted all the same, a destination that does not remember keys "
            f"acted {'twice' if acts else 'all the same'}"
        )
    return "what it refused did not act"
