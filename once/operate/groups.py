"""What lies in a dead end, by why it is there: shown in lists and before an act."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import Protocol

from rich.markup import escape
from rich.table import Column, Table

from once.errors import OnceError
from once.operate import phrases as words
from once.operate.model import Model

LISTED = 20  # more are shown as groups alone


class Group(Model):
    """Events that lie there for the same reason."""

    reason: str
    detail: str | None
    family: str | None
    source: str | None
    count: int
    first_ms: int
    last_ms: int


class Lying(Protocol):
    """One event in a dead end."""

    @property
    def why(self) -> tuple[str, str | None]:
        """The reason's code, and the detail to it."""
        ...

    @property
    def family(self) -> str | None: ...

    @property
    def source(self) -> str | None: ...

    @property
    def since_ms(self) -> int: ...

    def is_called(self, name: str) -> bool: ...


def groups(found: Collection[Lying]) -> list[Group]:
    """The largest first."""
    times: dict[tuple[str, str | None, str | None, str | None], list[int]] = {}
    for one in found:
        times.setdefault((*one.why, one.family, one.source), []).append(one.since_ms)
    made = [
        Group(
            reason=reason,
            detail=detail,
            family=family,
            source=source,
            count=len(at_ms),
            first_ms=min(at_ms),
            last_ms=max(at_ms),
        )
        for (reason, detail, family, source), at_ms in times.items()
    ]
    return sorted(made, key=lambda group: (-group.count, group.first_ms))


def table(made: Collection[Group], now_ms: int) -> Table:
    shown = Table(
        Column("events", justify="right"), "reason", "family", "source", "first", "last", box=None
    )
    for group in made:
        shown.add_row(
            f"{group.count:,}",
            escape(f"{group.reason}: {group.detail}" if group.detail else group.reason),
            escape(group.family or ""),
            escape(group.source or ""),
            words.age(now_ms - group.first_ms),
            words.age(now_ms - group.last_ms),
        )
    return shown


def counts(found: Collection[Lying]) -> Iterator[str]:
    """One line for each reason, for somebody who is about to act on all of them."""
    for reason, count in Counter(one.why[0] for one in found).most_common():
        said = words.reason(reason)
        yield escape(f"{count:,} {reason}: {said}" if said else f"{count:,} {reason}")


def strangers(ids: list[str] | None, found: Collection[Lying]) -> list[str]:
    """Names that fit nothing, most likely typos."""
    return [name for name in ids or () if not any(one.is_called(name) for one in found)]


def refuse(names: list[str], place: str) -> None:
    if names:
        raise OnceError(
            f"There is nothing of {', '.join(names)} in it, so nothing was done.\n"
            f"See what there is with: once {place} list"
        )


def source_of(element: dict[str, object]) -> str | None:
    """Which integration sent it: the last part of the event's source."""
    trace = element.get("trace")
    source = trace.get("source") if isinstance(trace, dict) else None
    return source.rpartition("/")[2] if isinstance(source, str) and source else None
