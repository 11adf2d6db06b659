"""Tries events on a local stack: shows what one would become, and sends it."""

import json
import re
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from once_enrichment.normalise import normalise

from once import verdict
from once.errors import OnceError
from once.keys import Key
from once.operate import log
from once.operate import phrases as words
from once.operate.claims import LATEST, Claim, Latest, Status, read_subject
from once.operate.model import Model
from once.operate.stack import Stack
from once.outcomes import Outcome
from once.project import EXAMPLE, ROOT
from once.reasons import describe

STATES = ("ok", "down", "hanging", "429", "lose")
MOST_COPIES, LONGEST_SECONDS = 20, 900
_TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z|(?<![\w"-])1[5-9]\d{11}(?!\d)')


class Looked(Model):
    """The element that the enrichment makes of a text, and the claim that it would meet."""

    text: str
    key: str | None = None
    family: str | None = None
    idempotency_key: str | None = None
    occurred_at_ms: int | None = None
    reason: str | None = None
    meets: str
    element: dict[str, Any]


def examples() -> dict[str, str]:
    """Returns events by name, the story's lines first."""
    found = {}
    for number, line in enumerate(EXAMPLE.read_text("utf-8").splitlines(), 1):
        found[f"story, line {number:02}"] = line
    folder: Path = ROOT / "schemas" / "examples"
    for path in sorted(folder.glob("*.event.json")):
        found[path.name.removesuffix(".event.json")] = path.read_text("utf-8")
    return found


def pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text


def look(stack: Stack, text: str) -> Looked:
    now_ms = log.now_ms()
    element = normalised(text, now_ms)
    if element["kind"] != "event":
        reason = element.get("reason")
        return Looked(
            text=describe(reason),
            reason=reason,
            meets="no claim: it would be parked, with its text",
            element=element,
        )
    key = Key.of_row(**element["key"])
    rows, latest = read_subject(stack, key.subject)
    claim = next((row for row in rows if row.key == key), None)
    newest = next((row for row in latest if row.sk == element["policy"].get("latest")), None)
    return Looked(
        text=words.describe_event(key),
        key=str(key),
        family=element["family"],
        idempotency_key=element["idempotencyKey"],
        occurred_at_ms=element["occurredAtMs"],
        meets=_meets(element, claim, newest, now_ms),
        element=element,
    )


def normalised(text: str, sent_ms: int) -> dict[str, Any]:
    attributes = {"SentTimestamp": str(sent_ms)}
    return normalise({"messageId": "tried", "body": text, "attributes": attributes})


def shifted(text: str, milliseconds: int) -> str:
    """Moves every time in it, so that it is another occurrence and not a copy."""

    def moved(found: re.Match[str]) -> str:
        if found[0].isdecimal():
            return str(int(found[0]) + milliseconds)
        try:
            at = datetime.fromisoformat(found[0]) + timedelta(milliseconds=milliseconds)
            at = at.astimezone(UTC)
        except (ValueError, OverflowError):
            return found[0]  # it only looks like a time
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    return _TIME.sub(moved, text)


def to_now(text: str, now_ms: int) -> str:
    occurred_ms = normalised(text, now_ms).get("occurredAtMs")
    return shifted(text, now_ms - occurred_ms) if occurred_ms else text


def send(
    stack: Stack, text: str, copies: int = 1, delay_seconds: int = 0, republished: bool = False
) -> list[str]:
    """Returns the ids of its messages; copies come as EventBridge or Genesys makes them."""
    if not text.strip():
        raise OnceError("There is nothing to send: choose an example or paste an event.")
    if not 1 <= copies <= MOST_COPIES or not 0 <= delay_seconds <= LONGEST_SECONDS:
        raise OnceError(f"1 to {MOST_COPIES} messages, 0 to {LONGEST_SECONDS} seconds late.")
    sqs, queue = stack.client("sqs"), stack.outputs["EventQueueUrl"]
    ids = []
    for number in range(copies):
        body = _republished(text) if republished and number else text
        sent = sqs.send_message(QueueUrl=queue, MessageBody=body, DelaySeconds=delay_seconds)
        ids.append(sent["MessageId"])
    return ids


def _meets(element: dict[str, Any], claim: Claim | None, latest: Latest | None, now: int) -> str:
    """Says what the claim rule would decide if the event came now."""
    event = verdict.Event.of(element)
    rows = verdict.Rows()
    if claim is not None:
        if claim.status is Status.IN_PROGRESS and claim.expires_at * 1000 > now:
            return f"the claim of message {claim.message_id}, in progress: it would wait"
        rows.claims[event.key] = verdict.Claim(
            message_id=claim.message_id,
            occurred_ms=claim.event_time,
            event_id=claim.event_id or "",
            expires_s=claim.expires_at,
            outcome=Outcome(claim.outcome or Outcome.RETRY),
            is_released=claim.status is Status.FAILED,
        )
    if latest is not None:
        state, until_s = (latest.pk, latest.state), now // 1000
        row = verdict.Latest(latest.owner, latest.event_time, state, until_s)
        rows.latest[event.latest] = row
    match rows.settle(event, now).reason:
        case "SAME_KEY" | "SAME_EVENT_ID" if claim:
            at = words.format_time(claim.done_at or claim.claimed_at)[:19]
            return (
                f"the claim of message {claim.message_id}, {claim.outcome} at {at} UTC: a DUPLICATE"
            )
        case "NEWER_OCCURRENCE":
            return "a newer occurrence of the same state: it would be skipped as STALE"
        case "NEWER_STATE" if latest:
            newest = words.format_time(latest.event_time)
            return f"no claim, but a newer {LATEST.strip('/')} state of {newest} UTC: STALE"
        case "UNCHANGED":
            return "the newest settled state, which is the same: a DUPLICATE, UNCHANGED"
    if claim is not None and claim.status is Status.FAILED:
        return f"a claim that message {claim.message_id} released: it would be acted on"
    return "no claim: it would be acted on"


def _republished(text: str) -> str:
    """Gives it an envelope of its own, as Genesys publishes an event again."""
    try:
        event = json.loads(text)
    except ValueError:
        return text
    return json.dumps({**event, "id": str(uuid.uuid4())}) if isinstance(event, dict) else text
