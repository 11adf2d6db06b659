"""What one can try on an embedded stack: what an event would become, and sending it."""

import json
import re
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from enrichment.normalise import normalise

from once.errors import OnceError
from once.operate import claims, log
from once.operate import phrases as words
from once.operate.claims import LATEST, Claim, Latest, Status
from once.operate.model import Model
from once.operate.stack import Stack
from once.project import EXAMPLE, ROOT

STATES = ("ok", "down", "hanging", "429", "lose")
MOST_COPIES, LONGEST_SECONDS = 20, 900
_TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,3})?Z|(?<![\w"-])1[5-9]\d{11}(?!\d)')


class Looked(Model):
    """What the enrichment makes of a text, and which claim it would meet."""

    text: str
    key: str | None = None
    family: str | None = None
    idempotency_key: str | None = None
    occurred_at_ms: int | None = None
    reason: str | None = None
    meets: str
    element: dict[str, Any]


def examples() -> dict[str, str]:
    """By name, the story's lines first."""
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
            text=words.reason(reason),
            reason=reason,
            meets="no claim: it would be parked, with its text",
            element=element,
        )
    pk, sk = element["key"]["pk"], element["key"]["sk"]
    rows, latest = claims.of_subject(stack, pk)
    claim = next((row for row in rows if row.sk == sk), None)
    newest = next((row for row in latest if row.sk == element["policy"].get("latest")), None)
    return Looked(
        text=words.event(element["family"], f"{pk}/{sk}"),
        key=f"{pk}/{sk}",
        family=element["family"],
        idempotency_key=element["idempotencyKey"],
        occurred_at_ms=element["occurredAtMs"],
        meets=_meets(element, claim, newest, now_ms),
        element=element,
    )


def normalised(text: str, sent_ms: int) -> dict[str, Any]:
    attributes = {"SentTimestamp": str(sent_ms)}
    return normalise({"messageId": "tried", "body": text, "attributes": attributes})


def _meets(element: dict[str, Any], claim: Claim | None, latest: Latest | None, now: int) -> str:
    at, window = element["occurredAtMs"], element["policy"]["windowMs"]
    event_id = element["trace"].get("eventId")
    again = bool(window) and claim is not None and claim.event_time < at - window
    if claim is not None and claim.expires_at * 1000 > now:
        if claim.status is Status.IN_PROGRESS:
            return f"the claim of message {claim.message_id}, being worked on: it would wait"
        if claim.status is Status.DONE and (not again or claim.event_id == (event_id or None)):
            if window and claim.event_time > at + window:
                return "a newer occurrence of the same state: it would be skipped as STALE"
            return (
                f"the claim of message {claim.message_id}, {claim.outcome} at "
                f"{words.moment(claim.done_at or claim.claimed_at)[:19]} UTC: a DUPLICATE"
            )
    if latest is not None and latest.event_time > at + window:
        newest = words.moment(latest.event_time)
        return f"no claim, but a newer {LATEST.strip('/')} state of {newest} UTC: STALE"
    if claim is not None and claim.status is Status.FAILED:
        return f"the claim that message {claim.message_id} gave up: it would take it over and act"
    return "no claim: it would act"


def shifted(text: str, milliseconds: int) -> str:
    """Every time in it moved, so that it is another happening and not a copy."""

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
    """The ids of its messages; copies after the first come as EventBridge or Genesys makes them."""
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


def _republished(text: str) -> str:
    """In an envelope of its own, as Genesys publishes an event again."""
    try:
        event = json.loads(text)
    except ValueError:
        return text
    return json.dumps({**event, "id": str(uuid.uuid4())}) if isinstance(event, dict) else text
