"""Words for the fields whose models leave them to their names: by model and name, or by the name
alone if it means the same everywhere."""

DESCRIPTIONS = {
    "ask": "Tells the two questions apart.",
    "batch": "The messages of the batch.",
    "body": "The event's own body, untouched. Either this or bodyRef is there.",
    "bucket": "The stack's overflow bucket.",
    "copyOf": "The message that was kept, if this is a collapsed copy.",
    "correlationId": "Genesys' CorrelationId.",
    "detail": "The reason as a sentence.",
    "envelopeId": "The id that EventBridge gave the envelope.",
    "family": "The kind of event, as docs/families.md lists them; null if there is no event.",
    "idempotencyKey": "SHA-256 of pk, newline, sk.",
    "ids": "All ids that were found by name: conversationId, queueId, …",
    "kind": "Tells an event from a copy, a parked message and one that returns to the queue.",
    "messageId": "The queue message.",
    "occurredAt": "When it occurred: ISO 8601, UTC, milliseconds.",
    "occurredAtMs": "When it occurred, epoch milliseconds.",
    "organizationId": "The Genesys Cloud organisation, from the source.",
    "pk": "Organisation, subject type and subject id.",
    "publishedAt": "The time at which its publisher sent it.",
    "raw": "The message's text. Either this or rawRef is there.",
    "reason": "Why, in one word of a list that may grow.",
    "receiptHandle": "The handle of this receive.",
    "replayName": "The EventBridge replay that sent it.",
    "requests": "Requests to the destination, in this execution.",
    "returns": "One for each message whose return time was set.",
    "sk": "The sort key: key version, family and identity parts.",
    "state": "The new state, if the family tells it in one word.",
    "topic": (
        "The topic as it was received, with a hash for each word of an undeclared topic that is "
        "no id; the detail-type of an event of your own, if it holds known words alone."
    ),
    "type": "Its kind.",
    "version": "Version of this contract.",
    "PaceBegin.events": "Messages that hold no event are left out.",
    "Reference.key": "The object in it.",
    "Report.actions": "What the destination saw.",
    "Report.events": "What became of each line.",
    "Subject.id": "Its id.",
    "Trace.source": "The EventBridge source.",
    "_Message.idempotencyKey": "Absent if the message holds no event; the breaker counts it.",
}
