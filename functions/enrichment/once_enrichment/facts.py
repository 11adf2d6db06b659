"""Hashes the facts of a state: the fields that count on a route, beside the key and never in it."""

from once_enrichment import paths
from once_enrichment.envelope import Opened
from once_enrichment.identity import whole
from once_enrichment.keys import digest
from once_enrichment.routes import Route


def hash_of(route: Route, opened: Opened, family: str) -> tuple[str, str | None]:
    """Returns the hash of an event's facts, and a note if none of the route's paths matches.

    Then the whole body counts, so a renamed field makes no change vanish silently. The route's name
    is in the hash: two routes never take one another's facts for their own.
    """
    if not route.facts:
        return digest({"route": route.name, "counts": whole(opened, family)}), None
    event = {**opened.body, "metadata": opened.metadata} if opened.metadata else opened.body
    counted = paths.only(event, paths.ways(route.facts))
    if counted is not paths.ABSENT:
        return digest({"route": route.name, "counts": counted}), None
    note = f"no fact of its route matches ({', '.join(route.facts)[:100]}): the whole body counts"
    return digest({"route": route.name, "counts": whole(opened, family)}), note
