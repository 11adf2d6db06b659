"""Does EventBridge let in by our pattern what Genesys Cloud sends, and nothing else?"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from once.prove.files import asked
from once.prove.question import Question
from once.prove.site import Site

Json = Any
_ANYTHING = {"source": [{"prefix": ""}]}


def questions() -> Iterator[Question]:
    pattern, events = asked()["pattern"], asked()["events"]
    for one in events:
        yield Question(
            name=f"rule {one['family']}",
            guards="the rule lets this family in",
            ask=partial(_matches, pattern, one["event"], _strange(one["event"])),
            expected={"matches": True},
        )
    event = events[0]["event"]
    for what, strange in {
        "another partner's event": {**event, "source": "aws.partner/example.com/cloud/1/main"},
        "an event of AWS's own": {
            **event,
            "source": "aws.events",
            "detail-type": "Scheduled Event",
        },
        "an event whose source only holds ours": {**event, "source": f"my.{event['source']}"},
    }.items():
        yield Question(
            name=f"rule keeps out {what}",
            guards="what is not Genesys Cloud's never reaches the queue",
            ask=partial(_keeps_out, pattern, strange),
            expected={"matches": False},
        )
    topics = {**pattern, "detail-type": [event["detail-type"]]}
    for one, matches in ((events[0], True), (events[1], False)):
        yield Question(
            name=f"rule with DetailTypes, {one['family']}",
            guards="DetailTypes chooses topics by their templates",
            ask=partial(_with_topics, topics, one["event"], pattern if not matches else None),
            expected={"matches": matches},
        )


def _strange(event: Json) -> Json:
    return {**event, "source": "somebody.else"}


def _test(site: Site, pattern: Json, event: Json) -> Json:
    answer = site.client("events").test_event_pattern(
        EventPattern=json.dumps(pattern), Event=json.dumps({"detail": {}, **event})
    )
    return {"matches": answer["Result"]}


def _matches(pattern: Json, event: Json, strange: Json, site: Site, broken: bool) -> Json:
    return _test(site, pattern, strange if broken else event)


def _keeps_out(pattern: Json, event: Json, site: Site, broken: bool) -> Json:
    return _test(site, _ANYTHING if broken else pattern, event)


def _with_topics(topics: Json, event: Json, without: Json | None, site: Site, broken: bool) -> Json:
    if not broken:
        return _test(site, topics, event)
    # Broken, it would let nothing in, or everything.
    return _test(site, without or {**topics, "detail-type": ["no.such.topic"]}, event)
