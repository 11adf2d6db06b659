"""Says of an event for which the destination was asked more than once: how often, when, why again,
under which Idempotency-Key, and what that means."""

from collections.abc import Iterable, Sequence

from pydantic import Field

from once.operate import phrases as words
from once.operate.model import Model
from once.outcomes import Outcome
from once.records import OutcomeRecord

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
    """That the destination was asked more than once, and what it means."""

    times: int
    may_have_acted: int = Field(description="Of these, the calls that acted, or may have.")
    calls: list[Call]
    keys: list[str] = Field(description="The Idempotency-Keys that were sent.")
    meaning: str


def called_of(records: Iterable[OutcomeRecord]) -> list[OutcomeRecord]:
    """Those in which the destination was called, oldest first."""
    return sorted((one for one in records if one.calls), key=lambda one: one.recorded_at_ms)


def keys_of(called: Sequence[OutcomeRecord], key: str | None) -> list[str]:
    """The Idempotency-Keys that were sent: recorded of calls that acted, else it is `key`, what
    would be sent now."""
    keys = [one.idempotency_key for one in called if one.idempotency_key]
    if called and key is not None and not called[-1].idempotency_key:
        keys.append(key)
    return list(dict.fromkeys(keys))


def asked(
    called: Sequence[OutcomeRecord], keys: list[str], forgotten_at_ms: int | None
) -> Asked | None:
    """Of all calls of one event; None where it was asked once or never.

    `forgotten_at_ms` is when somebody opened the claim on purpose.
    """
    times = sum(record.calls or 0 for record in called)
    if times < 2:
        return None
    # Of the calls of one delivery only the last is known to have been refused.
    refused = sum(one.reason in _REFUSED for one in called)
    return Asked(
        times=times,
        may_have_acted=times - refused,
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
        meaning=_meaning(called, times - refused, forgotten_at_ms),
    )


def sentence(found: Asked) -> str:
    """What its deliveries come to; each of them says its own calls."""
    under = f"Idempotency-Key {found.keys[0]}"
    if len(found.keys) > 1:
        under = f"{len(found.keys)} Idempotency-Keys"
    asked = f"the destination was asked {words.times(found.times)}"
    return f"{asked} under {under}: {found.meaning}" if found.keys else f"{asked}: {found.meaning}"


def _meaning(
    called: Sequence[OutcomeRecord],
    may_have_acted: int,
    forgotten_at_ms: int | None,
) -> str:
    acts = [one for one in called if one.outcome is Outcome.PROCESSED]
    if len({one.idempotency_key for one in acts}) > 1:
        when = f" on {words.moment(forgotten_at_ms)[:19]} UTC" if forgotten_at_ms else ""
        return f"somebody opened it on purpose{when} (once forget): it acted again, as a new one"
    if len(acts) > 1:
        lost = "the mark of the first was lost" if acts[0].unmarked else "its claim had ended"
        return (
            f"it acted again, since {lost}: a destination that does not remember keys acted twice"
        )
    if may_have_acted < 2:
        return "what it refused did not act"
    if not acts:
        return (
            "none of these calls is known to have acted, and each may have: a destination that "
            "does not remember keys may have acted already"
        )
    return (
        "a call that failed may have acted all the same: a destination that does not remember "
        f"keys may have acted {words.times(may_have_acted)}"
    )
