"""Looks at how events get to the queue: the rule, its bus, and the partner source behind it.

Only Genesys Cloud can send by it, so all of it is looked at and nothing is tried.
"""

from collections.abc import Iterator
from typing import Any

from once.model.checks import Check
from once.stack.facade import Stack

PARTNER = "aws.partner/"
_SET_UP = "docs/operations.md#set-up-the-genesys-side"
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
    prefix = stack.parameters.get("SourcePrefix", PARTNER)
    yield Check.of("rule", *_look_at_rule(stack, bus, prefix))
    if bus.startswith(PARTNER) or prefix.startswith(PARTNER):
        yield Check.of("partner source", *_look_at_source(stack, bus, prefix))


def _look_at_rule(stack: Stack, bus: str, prefix: str) -> tuple[bool | None, str]:
    events, name = stack.client("events"), stack.outputs["EventRuleName"]
    try:
        state = events.describe_rule(Name=name, EventBusName=bus)["State"]
        targets = events.list_targets_by_rule(Rule=name, EventBusName=bus)["Targets"]
    except events.exceptions.ResourceNotFoundException:
        return False, f"there is no rule {name} on the bus {bus}: deploy again"
    if state != "ENABLED":
        enable = f"aws events enable-rule --name {name} --event-bus-name {bus}"
        return False, f"{state}: events are lost meanwhile. Enable it: {enable}"
    queue = stack.outputs["EventQueueUrl"].rpartition("/")[2]
    if not any(target["Arn"].rpartition(":")[2] == queue for target in targets):
        return False, "it does not send to the event queue: deploy again"
    if bus.startswith(PARTNER) and not bus.startswith(prefix):
        return False, _describe_mismatch(bus, prefix)
    return None, "ENABLED, sends to the event queue; only an event of Genesys can test it"


def _look_at_source(stack: Stack, bus: str, prefix: str) -> tuple[bool | None, str]:
    events = stack.client("events")
    if bus.startswith(PARTNER):
        try:
            state = events.describe_event_source(Name=bus)["State"]
        except events.exceptions.ResourceNotFoundException:
            state = "DELETED"
        works, text = _STATES[state]
        return works, text.format(source=bus)
    if stack.is_local:
        return None, "a local stack has none: once send sends its events"
    alone = f"partner events never reach the bus {bus} by themselves"
    sources = events.list_event_sources(NamePrefix=f"{PARTNER}genesys.com")["EventSources"]
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
        f"not. Deploy with SourcePrefix={PARTNER}genesys.com"
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
