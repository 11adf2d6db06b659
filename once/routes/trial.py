"""Tries the routes of a file on the events of a capture."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from once_enrichment.normalise import normalise
from once_enrichment.routes import IGNORE, Route, Routes
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

_MOST_EXAMPLES = 3


class Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, use_attribute_docstrings=True
    )


class RouteTaken(Model):
    """The events of the capture that one route took."""

    name: str
    action: str
    """The id of a data action, `send` or `none`."""
    events: int
    """The number of these events."""
    expired: int
    """Those of them that were older than its `max_age` when they reached the queue."""


class RouteChange(Model):
    """Events that end otherwise with the other file."""

    before: str
    """`ignored`, `expired` or an action."""
    after: str
    """The same with the other file."""
    events: int
    """The number of these events."""
    examples: list[str]
    """Keys of some of these events."""


@dataclass
class Trial:
    """Counts over a capture."""

    routes: Routes
    other: Routes | None = None
    unreadable: int = 0
    undated: int = 0
    taken: dict[str, RouteTaken] = field(init=False)
    changes: dict[Any, RouteChange] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.taken = {
            route.name: RouteTaken(name=route.name, action=route.action, events=0, expired=0)
            for route in self.routes.routes
        }

    @property
    def events(self) -> int:
        return sum(taken.events for taken in self.taken.values())

    def add_all(self, records: Iterable[Mapping[str, Any]]) -> None:
        for record in records:
            event = normalise(record)
            if event["kind"] != "event":
                self.unreadable += 1
                continue
            route = self.routes.take(event)
            taken = self.taken[route.name]
            taken.events += 1
            taken.expired += _is_expired(route, event)
            self.undated += not event["sentAtMs"]
            if self.other is not None:
                self._compare(route, self.other.take(event), event)

    def _compare(self, route: Route, other: Route, event: dict[str, Any]) -> None:
        before, after = _end(route, event), _end(other, event)
        inputs = (route.inputs, other.inputs)
        if before == after and (before in ("ignored", "expired") or inputs[0] == inputs[1]):
            return
        if before == after:
            after = f"{after} with other inputs"
        new = RouteChange(before=before, after=after, events=0, examples=[])
        change = self.changes.setdefault((before, after), new)
        change.events += 1
        if len(change.examples) < _MOST_EXAMPLES:
            change.examples.append(f"{event['key']['pk']}/{event['key']['sk']}")


def _is_expired(route: Route, event: Mapping[str, Any]) -> bool:
    """Tells that the event was too old when it reached the queue, if the capture says when."""
    age_ms = event["sentAtMs"] - event["occurredAtMs"]
    return route.action != IGNORE and route.max_age_ms is not None and age_ms > route.max_age_ms


def _end(route: Route, event: Mapping[str, Any]) -> str:
    if route.action == IGNORE:
        return "ignored"
    return "expired" if _is_expired(route, event) else route.action
