"""Routes: what becomes of an event, by the first route of the operator's file that matches it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from once_enrichment import patterns
from once_enrichment.contract import IgnoredReason
from once_enrichment.message import Element
from once_enrichment.patterns import Field, Pattern
from once_enrichment.vocabulary import is_known

IGNORE = "none"

_LONGEST_DETAIL = 300
_MOST_NAMED = 3


@dataclass(frozen=True)
class Route:
    """One `[[routes]]` of the file."""

    name: str
    family: str  # a name, a beginning that ends in ".*", or "*"
    when: Pattern | None
    max_age_ms: int | None
    action: str
    inputs: Mapping[str, str] | None

    def is_for(self, family: str) -> bool:
        if self.family.endswith("*"):
            return family.startswith(self.family[:-1])
        return family == self.family


class Routes:
    """The routes of a file, in its order."""

    def __init__(self, routes: tuple[Route, ...]) -> None:
        self.routes = routes
        self._for_family = lru_cache(maxsize=1024)(self._find)

    def _find(self, family: str) -> tuple[Route, ...]:
        return tuple(route for route in self.routes if route.is_for(family))

    def take(self, event: Element) -> Route:
        """The first route that matches; the last one of a file matches every event."""
        for route in self._for_family(event["family"]):
            if route.when is None or route.when.matches(event):
                return route
        raise LookupError(f"no route for {event['family']}")

    def add_to(self, event: Element) -> None:
        """Writes into an event what is to become of it."""
        route = self.take(event)
        taken: Element = {"name": route.name, "action": route.action}
        event["route"] = taken
        if route.inputs is not None:
            taken["inputs"] = dict(route.inputs)
        if route.max_age_ms is not None:
            event["expiresAtMs"] = event["occurredAtMs"] + route.max_age_ms
        if route.action == IGNORE and route is self.routes[-1]:
            taken["ignored"] = IgnoredReason.NO_ROUTE_MATCHED.value
            taken["detail"] = self._missed(event)
        elif route.action == IGNORE:
            taken["ignored"] = IgnoredReason.ROUTE_IS_NONE.value

    def _missed(self, event: Element) -> str:
        """Describes what the routes for the event's family wanted."""
        others = self._for_family(event["family"])[:-1]
        if not others:
            return f"no route is for the family {event['family']}"
        said = []
        for route in others[:_MOST_NAMED]:
            field = route.when and route.when.unmet(event, event)
            if field:
                said.append(f'route "{route.name}" wants {_wanted(field, event)}')
        if len(others) > _MOST_NAMED:
            said.append(f"and {len(others) - _MOST_NAMED} more")
        return "; ".join(said)[:_LONGEST_DETAIL]


def _wanted(field: Field, event: Element) -> str:
    """Describes what a route wants of a field, and what the event has if that is not private."""
    wants = " or ".join(map(_shown, field.wanted))
    found = [*patterns.leaves(event, field.path)]
    if not found:
        has = "has none"
    elif isinstance(found[0], str) and is_known(found[0]):
        has = f"is {found[0]}"
    else:
        has = "is another"
    return f"{'.'.join(field.path)} {wants}, this {has}"


def _shown(wanted: Any) -> str:
    if isinstance(wanted, dict):
        [(operator, argument)] = wanted.items()
        return f"{operator} {json.dumps(argument)}"
    return wanted if isinstance(wanted, str) else json.dumps(wanted)
