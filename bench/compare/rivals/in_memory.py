"""Envelope id, then the entity's last timestamp, in the memory of the process: the habit of a
single server, carried over to Lambda, where every environment remembers for itself.
"""

from bench.compare.function import Event, Handler, World
from bench.compare.reading import entity, happened_ms


def build(world: World) -> Handler:
    seen: set[str] = world.memory.setdefault("seen", set())
    newest: dict[str, int] = world.memory.setdefault("newest", {})

    def handle(event: Event) -> None:
        moment = happened_ms(event) or 0
        if event["id"] in seen or moment <= newest.get(entity(event), 0):
            return
        world.act(event, event["id"])
        seen.add(event["id"])
        newest[entity(event)] = moment

    return world.each(handle)
