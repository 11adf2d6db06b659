"""Checks how events get to the queue: the rule, its bus, and the partner source behind it.

Only Genesys Cloud can send by it, so all of it is looked at and nothing is tried.
"""

from collections.abc import Iterator
from typing import Any

from once.operate.checks import Check
from once.operate.stack import Stack

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
        "DELETED in Genesys Cloud, so nothing comes any more. Set the integration up again there "
        f"with another suffix, then move to its source: {_SET_UP}",
    ),
}


def check_source(stack: Stack) -> Iterator[Check]:
    yield _rule(stack)
    bus = stack.outputs["EventBusName"]
    if bus.startswith(PARTNER) or _prefix(stack).startswith(PARTNER):
        yield _source(stack)


def _prefix(stack: Stack) -> str:
    return stack.parameters.get("SourcePrefix", PARTNER)


def _mismatch(stack: Stack, source: str) -> str | None:
    """Events of a partner source carry its name."""
    prefix = _prefix(stack)
    if source.startswith(prefix):
        return None
    return (
        f"it takes only events whose source begins with {prefix}, and what comes by {source} does "
        f"not. Deploy with SourcePrefix={PARTNER}genesys.com"
    )


def _rule(stack: Stack) -> Check:
    events = stack.client("events")
    bus, name = stack.outputs["EventBusName"], stack.outputs["EventRuleName"]

    def found(works: bool | None, said: str) -> Check:
        return Check(name="rule", works=works, said=said)

    try:
        state = events.describe_rule(Name=name, EventBusName=bus)["State"]
        targets = events.list_targets_by_rule(Rule=name, EventBusName=bus)["Targets"]
    except events.exceptions.ResourceNotFoundException:
        return found(False, f"there is no rule {name} on the bus {bus}: deploy again")
    queue = stack.outputs["EventQueueUrl"].rpartition("/")[2]
    if state != "ENABLED":
        helps = f"aws events enable-rule --name {name} --event-bus-name {bus}"
        return found(False, f"{state}: events are lost meanwhile. Enable it: {helps}")
    if not any(target["Arn"].rpartition(":")[2] == queue for target in targets):
        return found(False, "it does not send to our queue: deploy again")
    if bus.startswith(PARTNER) and (mismatch := _mismatch(stack, bus)):
        return found(False, mismatch)
    return found(None, "ENABLED, sends to our queue; only an event of Genesys can test it")


def _source(stack: Stack) -> Check:
    events, bus = stack.client("events"), stack.outputs["EventBusName"]

    def found(works: bool | None, said: str) -> Check:
        return Check(name="partner source", works=works, said=said)

    if bus.startswith(PARTNER):
        try:
            state = events.describe_event_source(Name=bus)["State"]
        except events.exceptions.ResourceNotFoundException:
            state = "DELETED"
        works, said = _STATES[state]
        return found(works, said.format(source=bus))
    if stack.is_local:
        return found(None, "a local stack has none: once send sends its events")
    alone = f"partner events never reach the bus {bus} by themselves"
    prefix = f"{PARTNER}genesys.com"
    sources = events.list_event_sources(NamePrefix=prefix)["EventSources"]
    for source in sources:
        if _passed_on(events, source["Name"], bus):
            if mismatch := _mismatch(stack, source["Name"]):
                return found(False, f"a rule of yours passes it on, but {mismatch}")
            return found(None, f"a rule of yours passes on what comes by {source['Name']}")
    for source in sources:
        deploy = "EventSourceName" if source["State"] == "PENDING" else "EventBusName"
        return found(
            False,
            f"Genesys sends to {source['Name']} ({source['State']}), and {alone}. "
            f"Deploy with {deploy}={source['Name']}",
        )
    return found(None, f"{alone}, and there is no source of Genesys in this region: {_SET_UP}")


def _passed_on(events: Any, source: str, bus: str) -> bool:
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
