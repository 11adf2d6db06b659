"""Hashes the facts of a state: the fields that count on a route, beside the key and never in it."""

from once_enrichment import paths
from once_enrichment.envelope import Opened
from once_enrichment.identity import Identity, hash_whole
from once_enrichment.keys import digest
from once_enrichment.routes import Route


def hash_of(route: Route, opened: Opened, identity: Identity) -> tuple[str, str | None]:
    """Returns the hash of an event's facts, and a note if none of the route's paths matches.

    Then the whole body counts, so a renamed field makes no change vanish silently. The route's name
    is in the hash: two routes never take one another's facts for their own.
    """
    note = None
    if route.facts:
        event = {**opened.body, "metadata": opened.metadata} if opened.metadata else opened.body
        counted = paths.only(event, paths.ways(route.facts))
        if counted is not paths.ABSENT:
            return digest({"route": route.name, "facts": counted}), None
        wanted = ", ".join(route.facts)[:100]
        note = f"no fact of its route matches ({wanted}): the whole body counts"
    whole = identity.whole or hash_whole(opened, identity.family)
    return digest({"route": route.name, "whole": whole}), note
