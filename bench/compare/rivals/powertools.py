"""Powertools for AWS Lambda: its idempotency around each record, its SQS batch processing around
that. Given the best key it can have, the topic and the body, which copies share.
"""

import json
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)

from bench.compare.function import Answer, Context, Event, Handler, World
from bench.compare.reading import content_key

POWERTOOLS_SECONDS = 3_600  # the default of IdempotencyConfig


def build(world: World) -> Handler:
    persistence = DynamoDBPersistenceLayer(table_name=world.table, boto3_client=world.dynamodb)
    config = IdempotencyConfig(
        event_key_jmespath="detail.[topicName, eventBody]",
        expires_after_seconds=POWERTOOLS_SECONDS,
    )
    processor = BatchProcessor(event_type=EventType.SQS)

    @idempotent_function(
        data_keyword_argument="event", persistence_store=persistence, config=config
    )
    def act_once(event: Event) -> None:
        world.act(event, content_key(event))

    def record_handler(record: Any) -> None:
        act_once(event=world.event({"body": record.body}))

    def handler(batch: Event) -> Answer:
        context: Any = Context()
        config.register_lambda_context(context)
        answer = process_partial_response(
            event=batch, record_handler=record_handler, processor=processor, context=context
        )
        return json.loads(json.dumps(answer))  # type: ignore[no-any-return]

    return handler
