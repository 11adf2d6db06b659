"""Events as a contact centre sends them, with ids and fields of real length, all invented."""

import json
import string
from random import Random
from typing import Any

from bench.events import Centre, text

# How many of each come among forty: mostly the steps of conversations, then agents' states,
# then what is said. My own estimate of a morning; the table of results shows each by itself.
MIX = {
    "customer.start": 2,
    "customer.end": 2,
    "flow.start": 2,
    "flow.end": 2,
    "acd.start": 3,
    "acd.end": 3,
    "user.start": 3,
    "user.end": 3,
    "acw": 2,
    "wrapup": 2,
    "attributes": 2,
    "presence": 3,
    "routingStatus": 3,
    "transcription": 4,
    "snapshot": 2,
    "audit": 1,
    "unknown": 1,
}
BATCH = 10
_SENT_MS = 1_777_892_400_000
_BASE64 = string.ascii_letters + string.digits + "+/"
_HANDLE_CHARS = 364  # as those that AWS shows in its examples
_SENTENCE = "thank you for calling how can I help you with your order today"


class Events(Centre):
    """Makes events; each is about another conversation."""

    def record(self, name: str) -> dict[str, Any]:
        template, body = getattr(self, f"_{name.partition('.')[0]}", self._step)(name)
        event = self.event(template, body.get("conversationId", self.id()), body, _SENT_MS)
        return {
            "messageId": self.id(),
            "receiptHandle": "AQEB" + "".join(self._random.choices(_BASE64, k=_HANDLE_CHARS)),
            "body": text(event),
            "attributes": {"SentTimestamp": str(_SENT_MS), "ApproximateReceiveCount": "1"},
            "messageAttributes": {},
        }

    def _at(self) -> int:
        return _SENT_MS - self._random.randrange(1, 1_200_000)

    def _step(self, name: str) -> tuple[str, dict[str, Any]]:
        body = {
            "eventTime": self._at(),
            "conversationId": self.id(),
            "participantId": self.id(),
            "sessionId": self.id(),
            "mediaType": "VOICE",
            "provider": "Edge",
            "direction": "INBOUND",
            "ani": "tel:+4930555550123",
            "dnis": "tel:+4930555550000",
            "divisionId": self.id(),
            "conversationExternalContactIds": [self.id()],
            "conversationExternalOrganizationIds": [self.id()],
        }
        if name.endswith(".end"):
            body |= {"disconnectType": "TRANSFER", "interactingDurationMs": 369_505}
        if name in ("acd.start", "acd.end", "user.start", "user.end", "acw", "wrapup"):
            body |= {"queueId": self.id(), "utilizationLabel": self.id(), "messageType": "UNKNOWN"}
        if name in ("user.start", "user.end", "acw"):
            body |= {"userId": self.id()}
        if name == "user.end":
            body |= {"heldDurationMs": 12_000, "alertingDurationMs": 4_100}
        if name in ("acw", "wrapup"):
            body |= {"wrapupCode": self.id(), "wrapupDurationMs": 31_204, "wrapupNotes": "called"}
        if name.startswith("flow."):
            body |= {"flowType": "INBOUNDCALL", "flowId": self.id(), "flowVersion": "7.0"}
        if name == "flow.end":
            body |= {"connectedDurationMs": 76_605, "exitReason": "TRANSFER", "transferType": "ACD"}
        if name == "acd.end":
            body |= {
                "acdOutcome": "ANSWERED",
                "answeredUserId": self.id(),
                "requestedRoutings": ["STANDARD"],
                "usedRouting": "STANDARD",
                "routingPriority": 40,
                "flowType": "inqueuecall",
            }
        return f"v2.detail.events.conversation.{{id}}.{name}", body

    def _attributes(self, name: str) -> tuple[str, dict[str, Any]]:
        template, body = self._step(name)
        del body["sessionId"]
        values = {f"ctx.{word}": f"{word} of a caller" for word in ("tier", "intent", "language")}
        return template, body | {"attributes": values | {"orderNumber": "4711-0815-2026"}}

    def _presence(self, _: str) -> tuple[str, dict[str, Any]]:
        return "v2.users.{id}.presence", {
            "source": "PURECLOUD",
            "presenceDefinition": {"id": self.id(), "systemPresence": "AVAILABLE"},
            "primary": True,
            "message": "",
            "modifiedDate": "2026-05-04T10:20:31.118Z",
        }

    def _routingStatus(self, _: str) -> tuple[str, dict[str, Any]]:  # noqa: N802
        status = {"status": "INTERACTING", "startTime": "2026-05-04T10:20:31.202Z"}
        return "v2.users.{id}.routingStatus", {"id": self.id(), "routingStatus": status}

    def _transcription(self, _: str) -> tuple[str, dict[str, Any]]:
        words = _SENTENCE.split()
        transcripts = [
            {
                "utteranceId": self.id(),
                "isFinal": True,
                "channel": channel,
                "alternatives": [
                    {
                        "confidence": 0.985,
                        "offsetMs": 2300,
                        "durationMs": 6980,
                        "transcript": " ".join(words),
                        "words": [
                            {"confidence": 0.97, "offsetMs": 300 * n, "durationMs": 280, "word": w}
                            for n, w in enumerate(words)
                        ],
                    }
                ],
                "engineProvider": "GENESYS",
                "dialect": "en-US",
            }
            for channel in ("INTERNAL", "EXTERNAL")
        ]
        return "v2.conversations.{id}.transcription", {
            "eventTime": "2026-05-04T10:20:31.264Z",
            "organizationId": self.organisation,
            "conversationId": self.id(),
            "communicationId": self.id(),
            "sessionStartTimeMs": self._at(),
            "transcriptionStartTimeMs": self._at(),
            "transcripts": transcripts,
            "status": {"offsetMs": 23_280, "status": "SESSION_ONGOING"},
        }

    def _snapshot(self, _: str) -> tuple[str, dict[str, Any]]:
        address = {"name": "somebody", "addressNormalized": "+4930555550123"}
        participants = [
            {
                "id": self.id(),
                "connectedTime": "2026-05-04T10:04:12.131Z",
                "name": "somebody",
                "queueId": self.id(),
                "purpose": purpose,
                "wrapupRequired": False,
                "attributes": {f"ctx.{n}": f"a value of usual length {n}" for n in range(8)},
                "conversationRoutingData": {"queue": {"id": self.id()}, "priority": 0},
                "calls": [
                    {
                        "state": "connected",
                        "initialState": "alerting",
                        "id": self.id(),
                        "direction": "inbound",
                        "recording": True,
                        "recordingState": "active",
                        "muted": False,
                        "confined": False,
                        "held": False,
                        "self": address,
                        "other": address,
                        "provider": "Edge",
                        "scriptId": self.id(),
                        "connectedTime": "2026-05-04T10:04:12.131Z",
                        "afterCallWorkRequired": False,
                    }
                ],
            }
            for purpose in ("customer", "ivr", "acd", "agent")
        ]
        body = {"id": self.id(), "participants": participants, "recordingState": "active"}
        return "v2.users.{id}.conversations.calls", body

    def _audit(self, _: str) -> tuple[str, dict[str, Any]]:
        return "v2.audits.entitytype.{id}.entityid.{id}", {
            "id": self.id(),
            "userId": self.id(),
            "username": {"id": self.id()},
            "serviceName": "Presence",
            "eventTime": "2026-05-04T10:20:31.000Z",
            "action": "Update",
            "entityType": "UserPresence",
            "entity": {"id": self.id(), "name": "somebody"},
            "propertyChanges": [
                {"property": "PRESENCE", "oldValues": ["Break"], "newValues": ["Available"]}
            ],
        }

    def _unknown(self, _: str) -> tuple[str, dict[str, Any]]:
        return "v2.something.new.{id}.changed", {
            "id": self.id(),
            "version": 7,
            "dateModified": "2026-05-04T10:20:31.000Z",
            "name": "a thing that Genesys has not invented yet",
            "divisionId": self.id(),
            "status": "ON",
            "settings": {"limit": 40, "mode": "PROGRESSIVE", "ids": [self.id(), self.id()]},
        }


def mixed(seed: int, count: int) -> list[list[dict[str, Any]]]:
    """Batches as a queue hands them out: all kinds side by side, no event twice, German names."""
    events, random = Events(seed), Random(seed)  # noqa: S311
    names = random.choices([*MIX], weights=[*MIX.values()], k=count * BATCH)
    records = [german(events.record(name)) for name in names]
    return [records[at : at + BATCH] for at in range(0, len(records), BATCH)]


def german(record: dict[str, Any]) -> dict[str, Any]:
    body = record["body"]
    for english, word in (
        ("somebody", "Jürgen Groß"),
        ("of a caller", "für Köln"),
        ("called", "zurück"),
    ):
        body = body.replace(english, word)
    return record | {"body": body}


def snapshots(seed: int, kilobytes: int) -> list[dict[str, Any]]:
    """A batch of snapshots of about this size: a conversation with more and more participants."""
    return [_grown(Events(seed + number).record("snapshot"), kilobytes) for number in range(BATCH)]


def _grown(record: dict[str, Any], kilobytes: int) -> dict[str, Any]:
    event = json.loads(record["body"])
    body = event["detail"]["eventBody"]
    first = list(body["participants"])
    while len(json.dumps(event)) < kilobytes * 1000:
        number = len(body["participants"])
        body["participants"].append({**first[number % len(first)], "id": f"participant-{number}"})
    return german(record | {"body": json.dumps(event, separators=(",", ":"))})
