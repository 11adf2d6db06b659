"""DynamoDB, `if exists` on the event's id, then a write, then the work: the handler that people
write first.
"""

from bench.compare.function import Event, Handler, World


def build(world: World) -> Handler:
    def handle(event: Event) -> None:
        key = {"id": {"S": event["id"]}}
        if "Item" in world.dynamodb.get_item(TableName=world.table, Key=key):
            return
        world.dynamodb.put_item(TableName=world.table, Item=key)
        world.act(event, event["id"])

    return world.each(handle)
