"""What lies in a dead end, by why it is there: shown in lists and before an act."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeVar

import typer
from pydantic import Field
from rich.markup import escape

from once.errors import OnceError
from once.operate import phrases as words
from once.operate.model import Model

LISTED = 20  # more are shown as groups alone

Reason = Annotated[str | None, typer.Option(help="Only those with this reason.")]
Family = Annotated[str | None, typer.Option(help="Only events of this family.")]
Source = Annotated[str | None, typer.Option(help="Only what this integration sent.")]


class Group(Model):
    """Events that lie there for the same reason."""

    reason: str
    detail: str | None
    family: str | None
    source: str | None
    count: int
    first_ms: int
    last_ms: int
    said: str | None = Field(description="What the newest call of them ended in, in a sentence.")


class Lying(Protocol):
    """One event in a dead end."""

    @property
    def message_id(self) -> str: ...

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

    @property
    def cause(self) -> str | None: ...

    def is_called(self, name: str) -> bool: ...


One = TypeVar("One", bound=Lying)


@dataclass(frozen=True)
class Chosen:
    """Which of them a command is about: those that fit all that was named."""

    ids: list[str] | None
    reason: str | None
    family: str | None
    source: str | None

    def __bool__(self) -> bool:
        return any((self.ids, self.reason, self.family, self.source))

    def of(self, found: Collection[One]) -> list[One]:
        ids = frozenset(self.ids or ())
        return [
            one
            for one in found
            if (self.reason is None or one.why[0] == self.reason.upper())
            and (self.family is None or one.family == self.family)
            and (self.source is None or one.source == self.source)
            # Whoever names thousands names messages.
            and (not ids or one.message_id in ids or any(map(one.is_called, ids)))
        ]

    def refuse_reason(self, found: Collection[Lying]) -> None:
        """Where nothing can ever lie there for it."""
        there = sorted({one.why[0] for one in found})
        if self.reason is not None and self.reason.upper() not in {*words.REASONS, *there}:
            raise OnceError(
                f"{self.reason} is no reason why an event lies here. "
                f"There {'is ' + ', '.join(there) if there else 'is nothing'}."
            )


def groups(found: Collection[Lying]) -> list[Group]:
    """The largest first."""
    alike: dict[tuple[str, str | None, str | None, str | None], list[Lying]] = {}
    for one in found:
        alike.setdefault((*one.why, one.family, one.source), []).append(one)
    made = [
        Group(
            reason=reason,
            detail=detail,
            family=family,
            source=source,
            count=len(together),
            first_ms=min(one.since_ms for one in together),
            last_ms=max(one.since_ms for one in together),
            said=max(together, key=lambda one: one.since_ms).cause,
        )
        for (reason, detail, family, source), together in alike.items()
    ]
    return sorted(made, key=lambda group: (-group.count, group.first_ms))


def view(made: Collection[Group], now_ms: int) -> Iterator[str]:
    """No table: it would break sentences where the terminal ends."""
    width = max(len(f"{group.count:,}") for group in made)
    for group in made:
        why = f"{group.reason}: {group.detail}" if group.detail else group.reason
        what = " ".join(
            part for part in (group.family, f"from {group.source}" if group.source else "") if part
        )
        first, last = (words.age(now_ms - at) for at in (group.first_ms, group.last_ms))
        ages = f"{last} ago" if first == last else f"{first} to {last} ago"
        line = (f"{group.count:>{width},}  {why.rstrip('.')}", what, ages)
        yield escape(", ".join(part for part in line if part))
        if group.said:
            yield escape(f"{'':{width}}  {words.short(group.said)}")


def counts(found: Collection[Lying]) -> Iterator[str]:
    """One line for each reason, for somebody who is about to act on all of them."""
    for reason, count in Counter(one.why[0] for one in found).most_common():
        said = words.reason(reason)
        yield escape(f"{count:,} {reason}: {said}" if said else f"{count:,} {reason}")


def strangers(ids: list[str] | None, found: Collection[Lying]) -> list[str]:
    """Names that fit nothing, most likely typos."""
    there = {one.message_id for one in found}
    return [n for n in ids or () if n not in there and not any(one.is_called(n) for one in found)]


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
