"""DynamoDB, one put with attribute_not_exists, skip when it is refused: the textbook's claim. Given
the same key as Powertools. It says who was first, not whether they came through.
"""

from botocore.exceptions import ClientError

from bench.compare.function import Event, Handler, World
from bench.compare.reading import content_key


def build(world: World) -> Handler:
    def handle(event: Event) -> None:
        key = content_key(event)
        try:
            world.dynamodb.put_item(
                TableName=world.table,
                Item={"id": {"S": key}},
                ConditionExpression="attribute_not_exists(id)",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                return
            raise
        world.act(event, key)

    return world.each(handle)
