"""Redis, SET NX EX on the envelope's id before the work, kept for a day: the usual answer to the
race above. A claim without an owner stays when its owner dies.
"""

from bench.compare.function import Event, Handler, World

REDIS_ID_SECONDS = 86_400


def build(world: World) -> Handler:
    def handle(event: Event) -> None:
        key = f"dedup:{event['id']}"
        if world.redis.set(key, "1", nx=True, ex=REDIS_ID_SECONDS):
            world.act(event, key)

    return world.each(handle)
