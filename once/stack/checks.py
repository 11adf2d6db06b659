"""The checks of `once check`: the path of events to the queue, and canaries from there.

Only Genesys Cloud can send through the rule, its bus and the partner source behind it: these are
looked at, and nothing is sent. The data action answers canaries itself, not the destination: a
message attribute marks them. What they ask for ends with their check: a canary that is delivered
later is acted on. Only a target bus gets them, with the source genesys-once.check.
"""

import json
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from once_enrichment.handler import CANARY, normalise
from pydantic import Field

from once.model import Model
from once.model.reasons import REASONS
from once.model.records import Record
from once.stack import dead_letters
from once.stack.delivery import Waiter
from once.stack.facade import Stack, read_clock_ms
from once.stack.stories import CANARY_FAMILY


class Check(Model):
    """One thing that was checked."""

    name: str
    works: bool | None = Field(description="Null if it could not be tried.")
    detail: str

    @classmethod
    def of(cls, name: str, works: bool | None, detail: str) -> "Check":
        return cls(name=name, works=works, detail=detail)


class Checked(Model):
    """Everything that was checked."""

    run: str | None = Field(description="Part of the ids of the canaries; null if none were sent.")
    checks: list[Check]

    @property
    def has_failed(self) -> bool:
        return any(check.works is False for check in self.checks)


_PARTNER = "aws.partner/"
_SET_UP = "docs/operations.md#set-up-the-genesys-side"
_RESTORE = "restore it (docs/operations.md#a-change-by-hand)"
# eventbridge API, EventSource, State.
_STATES = {
    "ACTIVE": (True, "ACTIVE"),
    "PENDING": (
        False,
        "PENDING: no bus takes its events, and EventBridge drops them. "
        "Deploy with EventSourceName={source}",
    ),
    "DELETED": (
        False,
        "DELETED in Genesys Cloud, so no event comes. Set the integration up again there with "
        f"another suffix, then move to its source: {_SET_UP}",
    ),
}


def check_source(stack: Stack) -> Iterator[Check]:
    """Checks the rule, and the partner source if events come by one."""
    bus = stack.outputs["EventBusName"]
    prefix = stack.parameters.get("SourcePrefix", _PARTNER)
    yield Check.of("rule", *_look_at_rule(stack, bus, prefix))
    if bus.startswith(_PARTNER) or prefix.startswith(_PARTNER):
        yield Check.of("partner source", *_look_at_source(stack, bus, prefix))


def _look_at_rule(stack: Stack, bus: str, prefix: str) -> tuple[bool | None, str]:
    events, name = stack.client("events"), stack.outputs["EventRuleName"]
    try:
        state = events.describe_rule(Name=name, EventBusName=bus)["State"]
        targets = events.list_targets_by_rule(Rule=name, EventBusName=bus)["Targets"]
    except events.exceptions.ResourceNotFoundException:
        return False, f"there is no rule {name} on the bus {bus}: {_RESTORE}"
    if state != "ENABLED":
        enable = f"aws events enable-rule --name {name} --event-bus-name {bus}"
        return False, f"{state}: events are lost meanwhile. Enable it: {enable}"
    queue = stack.outputs["EventQueueUrl"].rpartition("/")[2]
    if not any(target["Arn"].rpartition(":")[2] == queue for target in targets):
        return False, f"it does not send to the event queue: {_RESTORE}"
    if bus.startswith(_PARTNER) and not bus.startswith(prefix):
        return False, _describe_mismatch(bus, prefix)
    return None, "ENABLED, sends to the event queue; only an event of Genesys can test it"


def _look_at_source(stack: Stack, bus: str, prefix: str) -> tuple[bool | None, str]:
    events = stack.client("events")
    if bus.startswith(_PARTNER):
        try:
            state = events.describe_event_source(Name=bus)["State"]
        except events.exceptions.ResourceNotFoundException:
            state = "DELETED"
        works, text = _STATES[state]
        return works, text.format(source=bus)
    if stack.is_local:
        return None, "a local stack has none: once send sends its events"
    alone = f"partner events never reach the bus {bus} by themselves"
    sources = events.list_event_sources(NamePrefix=f"{_PARTNER}genesys.com")["EventSources"]
    for source in sources:
        if _is_passed_on(events, source["Name"], bus):
            if not source["Name"].startswith(prefix):
                mismatch = _describe_mismatch(source["Name"], prefix)
                return False, f"a rule of yours passes events on, but {mismatch}"
            return None, f"a rule of yours passes on the events of {source['Name']}"
    for source in sources:
        option = "EventSourceName" if source["State"] == "PENDING" else "EventBusName"
        return False, (
            f"Genesys sends to {source['Name']} ({source['State']}), and {alone}. "
            f"Deploy with {option}={source['Name']}"
        )
    return None, f"{alone}, and there is no source of Genesys in this region: {_SET_UP}"


def _describe_mismatch(source: str, prefix: str) -> str:
    return (
        f"the rule takes only events whose source begins with {prefix}, and those of {source} do "
        f"not. Deploy with SourcePrefix={_PARTNER}genesys.com"
    )


def _is_passed_on(events: Any, source: str, bus: str) -> bool:
    """Returns true if a rule on the bus of this source sends to ours."""
    try:
        rules = events.list_rules(EventBusName=source)["Rules"]
    except events.exceptions.ResourceNotFoundException:
        return False  # pending: it has no bus
    return any(
        target["Arn"].endswith(f":event-bus/{bus}")
        for rule in rules
        if rule["State"] == "ENABLED"
        for target in events.list_targets_by_rule(Rule=rule["Name"], EventBusName=source)["Targets"]
    )


_ORGANISATION = "once-check"
_ATTRIBUTES = {CANARY: {"DataType": "String", "StringValue": "true"}}


@dataclass
class Canary:
    """One message that is sent, and its id when it is."""

    name: str
    body: str
    message_id: str = ""
    element: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        sent = {"SentTimestamp": str(read_clock_ms())}
        self.element = normalise({"body": self.body, "attributes": sent})


def make_canary(run: str, name: str, **body: int) -> Canary:
    """Makes an event of an organisation that does not exist; `body` says how it ends."""
    topic = f"v2.{CANARY_FAMILY}"
    event = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": f"{topic}.{{id}}",
        "source": f"aws.partner/genesys.com/cloud/{_ORGANISATION}/canary",
        "detail": {
            "topicName": f"{topic}.{run}-{name}",
            "version": "2",
            "eventBody": {"eventTime": read_clock_ms(), **body},
        },
    }
    return Canary(name, json.dumps(event))


def make_copy(canary: Canary, name: str) -> Canary:
    """Makes the event as Genesys publishes it again: in a new envelope."""
    return Canary(name, json.dumps({**json.loads(canary.body), "id": str(uuid.uuid4())}))


class Trial:
    """Sends canaries, waits for their outcomes and cleans up."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self.sent: list[Canary] = []
        self._waiter = Waiter(stack, poll_seconds=2.0)

    def send(self, *canaries: Canary) -> None:
        for canary in canaries:
            sent = self._stack.client("sqs").send_message(
                QueueUrl=self._stack.outputs["EventQueueUrl"],
                MessageBody=canary.body,
                MessageAttributes=_ATTRIBUTES,
            )
            canary.message_id = str(sent["MessageId"])
            self.sent.append(canary)

    def wait(self, canaries: Sequence[Canary], seconds: float) -> bool:
        """Waits until they are settled; returns false if the time is over before, or if one of them
        was put back twice for a reason that somebody has to repair."""

        def is_settled() -> bool:
            return all(self._waiter.find_end(canary.message_id) for canary in canaries)

        self._waiter.wait(lambda: is_settled() or any(map(self._is_stuck, canaries)), seconds)
        return is_settled()

    def _is_stuck(self, canary: Canary) -> bool:
        # A canary itself asks for CALL_FAILED.
        reasons = [record.reason or "" for record in self.records_of(canary)]
        return any(
            reasons.count(code) > 1 and code in REASONS and REASONS[code].alarm
            for code in {*reasons}
        )

    def wait_for_replay(self, canary: Canary, seconds: float) -> bool:
        """Waits until a canary that was parked is settled again."""
        return self._waiter.wait(
            lambda: sum(record.is_settled for record in self.records_of(canary)) > 1, seconds
        )

    def records_of(self, canary: Canary) -> list[Record]:
        return self._waiter.records[canary.message_id]

    def replay(self, canary: Canary) -> bool:
        """Replays a canary that was parked; returns false if it is not in the dead-letter queue."""
        with dead_letters.reading(self._stack) as letters:
            ours = [letter for letter in letters if letter.first_message_id == canary.message_id]
            for letter in ours:
                letter.once["canary"] = True
            return bool(ours) and not dead_letters.replay(self._stack, ours)

    def clear_parked(self) -> int:
        """Takes the canaries that were parked out of the dead-letter queue, and nothing else."""
        ids, count = {canary.message_id for canary in self.sent}, 0
        with dead_letters.reading(self._stack) as letters:
            ours = [letter for letter in letters if letter.first_message_id in ids]
            for batch in dead_letters.batches(ours):
                count += len(batch) - len(dead_letters.delete(self._stack, batch))
        return count

    def clear_rows(self) -> None:
        """Deletes the claims of the canaries, which nobody needs."""
        table, dynamodb = self._stack.outputs["ClaimTableName"], self._stack.client("dynamodb")
        keys = (canary.element["key"] for canary in self.sent)
        for pk in {key["pk"] for key in keys if isinstance(key, dict)}:
            answer = dynamodb.query(
                TableName=table,
                KeyConditionExpression="pk = :pk",
                ExpressionAttributeValues={":pk": {"S": pk}},
                ProjectionExpression="pk, sk",
            )
            for row in answer["Items"]:
                dynamodb.delete_item(TableName=table, Key=row)
