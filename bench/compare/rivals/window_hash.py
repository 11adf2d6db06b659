"""A hash of conversation and state, skipped when it was seen within the last 500 ms: the habit of
those who saw the copies arrive within milliseconds. Kept in DynamoDB, so that all workers share it.
"""

import hashlib
import time

from botocore.exceptions import ClientError

from bench.compare.function import Event, Handler, World
from bench.compare.reading import entity, state

WINDOW_MS = 500


def build(world: World) -> Handler:
    def handle(event: Event) -> None:
        key = hashlib.sha256(f"{entity(event)}:{state(event)}".encode()).hexdigest()
        now = time.time_ns() // 1_000_000
        try:
            world.dynamodb.put_item(
                TableName=world.table,
                Item={"id": {"S": key}, "seen_at": {"N": str(now)}},
                ConditionExpression="attribute_not_exists(id) OR seen_at < :since",
                ExpressionAttributeValues={":since": {"N": str(now - WINDOW_MS)}},
            )
        except ClientError as error:
            if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
                return
            raise
        world.act(event, key)

    return world.each(handle)
