"""Events of our own making and the elements they must become, with their keys pinned."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from once_data_action.request import ActionRequest, webhook_request
from once_enrichment.batch import enrich

SENT_MS = 1777888802000  # two seconds after the events, which happen at 10:00 on 4 May 2026
EVENT, ELEMENT = ".event.json", ".element.json"

Json = dict[str, Any]


def names(folder: Path) -> list[str]:
    return sorted(path.name.removesuffix(EVENT) for path in folder.glob(f"*{EVENT}"))


def element_of(event: Json) -> Json:
    """Returns the element that the enrichment makes of this event alone."""
    record = {
        "messageId": "example",
        "receiptHandle": "handle-of-example",
        "body": json.dumps(event),
        "attributes": {"SentTimestamp": str(SENT_MS), "ApproximateReceiveCount": "1"},
    }
    (element,) = enrich([record], _no_bucket)
    return element


def requests(folder: Path) -> dict[str, Json]:
    """Makes what the data action, a webhook and a bus get for one event, by the contract's name.

    The fields around the event stay as they are in the files; without a file there is none.
    """
    if not all((folder / f"{name}.json").exists() for name in ("action-request", "bus-event")):
        return {}
    event = json.loads((folder / f"conversation.user.start{EVENT}").read_text("utf-8"))
    action = json.loads((folder / "action-request.json").read_text("utf-8"))
    element = element_of(event)
    del element["receiptHandle"]
    action["event"] = element | {name: action["event"][name] for name in ("messageId", "sentAtMs")}
    request = webhook_request(ActionRequest.read(action), element["body"])
    on_bus = json.loads((folder / "bus-event.json").read_text("utf-8")) | {"detail": request}
    return {"action-request": action, "webhook-request": request, "bus-event": on_bus}


def invocations(folder: Path) -> Iterator[tuple[str, Any]]:
    """Yields an input of each function, by its name, for `sam local invoke`."""
    event = (folder / f"conversation.user.start{EVENT}").read_text("utf-8")
    copy = json.dumps({**json.loads(event), "id": "0b5e55ed-0000-4000-8000-00000000c0b1"})
    bodies = {"first": event, "copy": copy, "broken": event[:100]}
    attributes = {"SentTimestamp": str(SENT_MS), "ApproximateReceiveCount": "1"}
    records = [
        {"messageId": name, "receiptHandle": name, "body": body, "attributes": attributes}
        for name, body in bodies.items()
    ]
    yield "enrichment", records
    if request := requests(folder).get("action-request"):
        yield "data_action", request
    yield "pacing", json.loads((folder / "pace-begin.json").read_text("utf-8"))


def changed_key(name: str, pinned: Json, now: Json) -> Iterator[str]:
    """Complains where the key is another, and its version is not."""
    before, after = pinned.get("key"), now.get("key")
    if not before or before == after:
        return
    if after and _version(before) != _version(after):
        return
    yield (
        f"schemas/examples/{name}{ELEMENT}: the key changed from {before} to {after}. Copies in "
        "flight would act twice. Take the change back; or, if it is meant, raise KEY_VERSION in "
        "functions/enrichment/once_enrichment/contract.py, run `make schemas`, and deploy as "
        "CONTRIBUTING.md says"
    )


def _no_bucket(key: str, content: bytes) -> Json:
    raise AssertionError(f"an example is too large: {key}, {len(content)} bytes")


def _version(key: Json) -> str:
    return str(key["sk"]).partition("/")[0]
