"""Warns of an EventFilter that drops some events of a family whose order matters.

An older state is stale because a newer one came first. If the rule drops the newer one, the older
one is acted on. A filter that takes all events of a family, or none, changes nothing.
"""

import json
from collections.abc import Iterator, Mapping

from once_enrichment import patterns
from once_enrichment.families import FAMILIES
from once_enrichment.patterns import Path, PatternError
from once_enrichment.topics import family_name

from once.operate.checks import Check
from once.routes import fields

_BODY, _WHOLE_FAMILIES = "eventBody", "topicName"
_NAMED = 3


def check_filter(parameters: Mapping[str, str]) -> Iterator[Check]:
    if not (text := parameters.get("EventFilter", "")):
        return
    try:
        paths = [field.path for field in patterns.read(json.loads(text)).named()]
    except (ValueError, PatternError) as error:
        yield Check(name="EventFilter", works=None, said=f"it cannot be judged here: {error}")
        return
    topics = [topic.strip() for topic in parameters.get("DetailTypes", "*").split(",")]
    ordered = {
        family_name(topic)
        for family in FAMILIES
        if family.order != "none"
        for topic in family.topics
        if topics == ["*"] or topic in topics
    }
    split = [family for family in sorted(ordered) if any(_splits(family, path) for path in paths)]
    if not split:
        said = "the rule drops what it does not match, without a record"
        yield Check(name="EventFilter", works=None, said=said)
        return
    more = f" and {len(split) - _NAMED} more" if len(split) > _NAMED else ""
    said = (
        f"it drops some events of {', '.join(split[:_NAMED])}{more}, so an older state is acted on "
        "after a newer one that was dropped. Use a route: docs/routes.md#events-that-cost-nothing"
    )
    yield Check(name="EventFilter", works=False, said=said)


def _splits(family: str, path: Path) -> bool:
    """Returns true if a condition on this field can hold for some events of a family only."""
    if path[0] != _BODY:
        return path[0] != _WHOLE_FAMILIES
    shape = fields.shapes().get(family)
    return shape is not None and fields.at(shape, path[1:]) is not None
