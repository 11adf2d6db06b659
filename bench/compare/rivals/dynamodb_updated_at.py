"""DynamoDB, one row a conversation that only a newer `updated_at` may change: the habit of those
who keep the latest state. Whatever is not newer is taken for a copy.
"""

from botocore.exceptions import ClientError

from bench.compare.function import Event, Handler, World
from bench.compare.reading import entity, happened_ms


def build(world: World) -> Handler:
    def handle(event: Event) -> None:
        moment = str(happened_ms(event))
        try:
            world.dynamodb.update_item(
                TableName=world.table,
                Key={"id": {"S": entity(event)}},
                UpdateExpression="SET updated_at = :at",
                ConditionExpression="attribute_not_exists(updated_at) OR updated_at < :at",
                ExpressionAttributeValues={":at": {"N": moment}},
            )
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                return
            raise
        world.act(event, f"{entity(event)}:{moment}")

    return world.each(handle)
