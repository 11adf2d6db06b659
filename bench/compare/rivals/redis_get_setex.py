"""Reads Redis first, then writes a key for ten seconds, as forum posts about Genesys events do. The
key here has the state too, which they leave out. Two workers can read at the same time.
"""

from bench.compare.function import Event, Handler, World
from bench.compare.reading import entity, state

REDIS_SECONDS = 10


def build(world: World) -> Handler:
    def handle(event: Event) -> None:
        key = f"call:{entity(event)}:{state(event)}"
        if world.redis.get(key):
            return
        world.redis.setex(key, REDIS_SECONDS, "1")
        world.act(event, key)

    return world.each(handle)
