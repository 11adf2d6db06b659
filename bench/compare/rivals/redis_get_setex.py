"""Redis, look first, then remember for ten seconds: the habit of forum posts about doubled Genesys
events, here with the state in the key, which they leave out. Two workers look at the same time.
"""

from bench.compare.function import Event, Handler, World
from once.audit.rivals import REDIS_SECONDS, entity, state


def build(world: World) -> Handler:
    def handle(event: Event) -> None:
        key = f"call:{entity(event)}:{state(event)}"
        if world.redis.get(key):
            return
        world.redis.setex(key, REDIS_SECONDS, "1")
        world.act(event, key)

    return world.each(handle)
