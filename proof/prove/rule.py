"""Does EventBridge let in by our pattern what Genesys Cloud sends, and nothing else?"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from proof.prove.files import asked
from proof.prove.question import Question
from proof.prove.site import Site

Json = Any
Tested = tuple[Json, Json]
_ANYTHING = {"source": [{"prefix": ""}]}


def questions() -> Iterator[Question]:
    pattern, events = asked()["pattern"], asked()["events"]
    for one in events:
        yield Question(
            name=f"rule {one['family']}",
            guards="the rule lets this family in",
            ask=partial(_test, (pattern, one["event"]), (pattern, _strange(one["event"]))),
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
            ask=partial(_test, (pattern, strange), (_ANYTHING, strange)),
            expected={"matches": False},
        )
    chosen = {**pattern, "detail-type": [event["detail-type"]]}
    none = {**pattern, "detail-type": ["no.such.topic"]}
    for one, matches, other in ((events[0], True, none), (events[1], False, pattern)):
        yield Question(
            name=f"rule with DetailTypes, {one['family']}",
            guards="DetailTypes chooses topics by their templates",
            ask=partial(_test, (chosen, one["event"]), (other, one["event"])),
            expected={"matches": matches},
        )


def _strange(event: Json) -> Json:
    return {**event, "source": "another.source"}


def _test(right: Tested, wrong: Tested, site: Site, broken: bool) -> Json:
    """Tests a pattern with an event; broken, the pair of which the opposite is true."""
    pattern, event = wrong if broken else right
    answer = site.client("events").test_event_pattern(
        EventPattern=json.dumps(pattern), Event=json.dumps({"detail": {}, **event})
    )
    return {"matches": answer["Result"]}
