"""Routes: what becomes of an event, by the first route of the operator's file that matches it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from once_enrichment import patterns, topics
from once_enrichment.contract import IgnoredReason
from once_enrichment.keys import ascii_only, is_plain
from once_enrichment.message import Element
from once_enrichment.patterns import Field, Pattern

IGNORE = "none"
_LONGEST_DETAIL = 300


@dataclass(frozen=True, kw_only=True)
class Route:
    """One `[[routes]]` of the file."""

    name: str
    family: str
    """A name, a beginning that ends in ".*", or "*"."""
    action: str
    when: Pattern | None = None
    max_age_ms: int | None = None
    inputs: Mapping[str, str] | None = None
    facts: Sequence[str] = ()
    """Paths of the fields that count, for families with an order; empty: the whole body."""
    order: Literal["every"] | None = None
    """`every`: an event is acted on even if a newer event has passed it."""

    def is_for(self, family: str) -> bool:
        return topics.covers(self.family, family)


@dataclass(frozen=True)
class Routes:
    """The routes of a file, in its order."""

    routes: tuple[Route, ...]

    def take(self, event: Mapping[str, Any]) -> Route:
        """Returns the first route that matches; the last route of a file matches every event.

        The event has the fields of an element and its `body`.
        """
        return next(
            route
            for route in self.routes_for(event["family"])
            if route.when is None or route.when.matches(event)
        )

    def routes_for(self, family: str) -> Iterator[Route]:
        return (route for route in self.routes if route.is_for(family))

    def describe(self, route: Route, event: Mapping[str, Any]) -> Element:
        """Returns what an element says of the route that it took."""
        taken: Element = {"name": route.name, "action": route.action}
        if route.inputs is not None:
            taken["inputs"] = dict(route.inputs)
        if route.action == IGNORE and route is self.routes[-1]:
            taken["ignored"] = IgnoredReason.NO_ROUTE_MATCHED.value
            taken["detail"] = self._missed(event)
        elif route.action == IGNORE:
            taken["ignored"] = IgnoredReason.ROUTE_IS_NONE.value
        return taken

    def _missed(self, event: Mapping[str, Any]) -> str:
        """Describes what the first route for the event's family wanted."""
        first = next(self.routes_for(event["family"]))
        field = first.when and first.when.unmet(event, event)
        if not field:
            return f"no route is for the family {event['family']}"
        detail = f'route "{first.name}" wants {_wanted(field, event)}'
        return ascii_only(detail)[:_LONGEST_DETAIL]


def _wanted(field: Field, event: Mapping[str, Any]) -> str:
    """Describes what a route wants of a field, and what the event has if that is not private."""
    wants = " or ".join(map(_shown, field.wanted))
    value = next(patterns.leaves(event, field.path), None)
    has = "is another"
    if value is None:
        has = "has none"
    elif isinstance(value, str) and is_plain(value):
        has = f"is {value}"
    return f"{'.'.join(field.path)} {wants}, this {has}"


def _shown(wanted: Any) -> str:
    if isinstance(wanted, dict):
        [(operator, argument)] = wanted.items()
        return f"{operator} {json.dumps(argument)}"
    return wanted if isinstance(wanted, str) and wanted.isascii() else json.dumps(wanted)
