"""Tries the routes of a file on the events of a capture: which acts, and which does not and why."""

from collections.abc import Iterable
from typing import Any

from once_enrichment.normalise import normalise
from once_enrichment.routes import Routes
from pydantic import Field

from once.lines import Captured
from once.model import Model
from once.model.rule import Event, Rows

_MOST_EXAMPLES = 3
_ACTED = "ACTED"


class RouteTaken(Model):
    """The events of the capture that one route took."""

    name: str
    action: str = Field(description="The id of a data action, `send` or `none`.")
    events: int = 0
    acted: int = Field(default=0, description="Those for which a request would be sent.")
    expired: int = Field(default=0, description="Those that arrived older than its `max_age`.")
    without_facts: int = Field(default=0, description="Those in which none of its facts is found.")


class RouteChange(Model):
    """Events that end otherwise with the other file."""

    before: str = Field(description="An action, or the reason why nothing is sent.")
    after: str = Field(description="The same with the other file.")
    events: int = 0
    examples: list[str] = Field(default=[], description="Keys of some of these events.")


class RoutesTrial(Model):
    """The result of a file of routes for a capture."""

    events: int = Field(default=0, description="The events in the capture.")
    unreadable: int = Field(
        default=0, description="Records without an event; they would be parked."
    )
    undated: int = Field(
        default=0,
        description="Events without a time of arrival in the capture: none of them expires.",
    )
    routes: list[RouteTaken] = Field(description="The routes in the order of the file.")
    changes: list[RouteChange] = Field(default=[], description="Empty without another file.")


class _File:
    """One file of routes, and the claims that its events would leave."""

    def __init__(self, routes: Routes) -> None:
        self.routes = routes
        self._rows = Rows()

    def settle(self, captured: Captured) -> tuple[dict[str, Any], str]:
        """Returns an element, and its action or the reason why nothing is sent."""
        element = normalise(captured.record, self.routes)
        # Without a time of arrival nobody knows how old an event was.
        now_ms = captured.arrived_ms or element["occurredAtMs"]
        reason = self._rows.settle(Event.of(element), now_ms).reason
        return element, element["route"]["action"] if reason == _ACTED else reason


def try_routes(records: Iterable[Captured], routes: Routes, other: Routes | None) -> RoutesTrial:
    """Counts over a capture."""
    file, against = _File(routes), _File(other) if other else None
    taken_by = {r.name: RouteTaken(name=r.name, action=r.action) for r in routes.routes}
    changes: dict[tuple[str, str], RouteChange] = {}
    trial = RoutesTrial(routes=[*taken_by.values()])
    for captured in records:
        element, end = file.settle(captured)
        if "broken" in element:
            trial.unreadable += 1
            continue
        route = element["route"]
        taken = taken_by[route["name"]]
        taken.events += 1
        taken.acted += end == route["action"]
        taken.expired += end == "EXPIRED"
        taken.without_facts += "no fact of its route" in element.get("note", "")
        trial.events += 1
        trial.undated += not captured.arrived_ms
        if against is None:
            continue
        element, after = against.settle(captured)
        has_same_inputs = route.get("inputs") == element["route"].get("inputs")
        if end == after == route["action"] and not has_same_inputs:
            after = f"{after} with other inputs"
        if end != after:
            change = changes.setdefault((end, after), RouteChange(before=end, after=after))
            change.events += 1
            key = f"{element['key']['pk']}/{element['key']['sk']}"
            change.examples = [*change.examples, key][:_MOST_EXAMPLES]
    trial.changes = sorted(changes.values(), key=lambda change: -change.events)
    return trial
