"""`once check` names each cause for which no event reaches the queue, and what to do."""

from collections.abc import Mapping
from typing import Any

import pytest

from once.operate import event_source
from once.operate.checks import Check
from once.operate.stack import Stack
from proof.deployed import DeployedStack

ORGANISATION = "aws.partner/genesys.com/cloud/1f0e6a52-0000-4000-8000-00000000000a"
SOURCE = f"{ORGANISATION}/live"
ACCOUNT, REGION = "111122223333", "eu-central-1"
QUEUE = f"arn:aws:sqs:{REGION}:{ACCOUNT}:once-EventQueue"


class NotFoundError(Exception):
    """The error that the client of EventBridge raises."""


class FakeEvents:
    """An EventBridge with these buses, their rules and their targets, and these sources."""

    class exceptions:  # noqa: N801 - as in boto3
        ResourceNotFoundException = NotFoundError

    def __init__(
        self, sources: Mapping[str, str], rules: Mapping[str, Mapping[str, str]], state: str
    ) -> None:
        self._sources, self._rules, self._state = sources, rules, state

    def describe_event_source(self, Name: str) -> dict[str, str]:  # noqa: N803
        if Name not in self._sources:
            raise NotFoundError
        return {"Name": Name, "State": self._sources[Name]}

    def list_event_sources(self, NamePrefix: str) -> dict[str, Any]:  # noqa: N803
        named = self._sources.items()
        found = [{"Name": n, "State": s} for n, s in named if n.startswith(NamePrefix)]
        return {"EventSources": found}

    def list_rules(self, EventBusName: str) -> dict[str, Any]:  # noqa: N803
        if EventBusName not in self._rules:
            raise NotFoundError
        rules = self._rules[EventBusName]
        return {"Rules": [{"Name": name, "State": self._state} for name in rules]}

    def describe_rule(self, Name: str, EventBusName: str) -> dict[str, str]:  # noqa: N803
        if Name not in self._rules.get(EventBusName, {}):
            raise NotFoundError
        return {"State": self._state}

    def list_targets_by_rule(self, Rule: str, EventBusName: str) -> dict[str, Any]:  # noqa: N803
        return {"Targets": [{"Arn": self._rules[EventBusName][Rule]}]}


class FakeStack:
    is_local = False

    def __init__(
        self,
        bus: str,
        sources: Mapping[str, str] | None = None,
        rules: Mapping[str, Mapping[str, str]] | None = None,
        state: str = "ENABLED",
        **parameters: str,
    ) -> None:
        self.outputs = {
            "EventBusName": bus,
            "EventRuleName": "once-events",
            "EventQueueUrl": f"https://sqs/{ACCOUNT}/once-EventQueue",
        }
        self.parameters = {"SourcePrefix": "aws.partner/genesys.com", **parameters}
        self.account, self.region = ACCOUNT, REGION
        ours = {bus: {"once-events": QUEUE}}
        self._events = FakeEvents(sources or {}, {**ours, **(rules or {})}, state)

    def client(self, _: str) -> FakeEvents:
        return self._events


def looked_at(stack: Any) -> dict[str, Check]:
    return {one.name: one for one in event_source.check_source(stack)}


def test_a_source_that_is_active_lets_events_in() -> None:
    found = looked_at(FakeStack(SOURCE, {SOURCE: "ACTIVE"}))
    assert found["rule"].works is None
    assert found["partner source"].works is True


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        ({SOURCE: "PENDING"}, f"Deploy with EventSourceName={SOURCE}"),
        ({SOURCE: "DELETED"}, "Set the integration up again"),
        ({}, "Set the integration up again"),
    ],
)
def test_a_pending_or_deleted_source_names_its_remedy(
    sources: Mapping[str, str], said: str
) -> None:
    source = looked_at(FakeStack(SOURCE, sources))["partner source"]
    assert source.works is False
    assert said in source.said


@pytest.mark.parametrize(
    ("state", "deploy"), [("ACTIVE", "EventBusName"), ("PENDING", "EventSourceName")]
)
def test_a_rule_on_the_default_bus_is_said_to_listen_in_vain(state: str, deploy: str) -> None:
    source = looked_at(FakeStack("default", {SOURCE: state}))["partner source"]
    assert source.works is False
    assert "partner events never reach the bus default by themselves" in source.said
    assert f"Deploy with {deploy}={SOURCE}" in source.said


def test_a_rule_that_matches_no_event_of_its_source_is_found() -> None:
    """The source is ACTIVE, and nothing ever came."""
    other = ORGANISATION.replace("0000a", "0000b")
    found = looked_at(FakeStack(SOURCE, {SOURCE: "ACTIVE"}, SourcePrefix=other))
    assert found["rule"].works is False
    assert "Deploy with SourcePrefix=aws.partner/genesys.com" in found["rule"].said
    assert looked_at(FakeStack(SOURCE, {SOURCE: "ACTIVE"}, SourcePrefix="shop."))["rule"].works is (
        False
    )
    exact = looked_at(FakeStack(SOURCE, {SOURCE: "ACTIVE"}, SourcePrefix=ORGANISATION))
    assert exact["rule"].works is None


def test_forwarded_events_that_no_rule_takes_name_the_parameter() -> None:
    rules = {SOURCE: {"pass-on": f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/contact-centre"}}
    prefix = ORGANISATION.replace("0000a", "0000b")
    stack = FakeStack("contact-centre", {SOURCE: "ACTIVE"}, rules, SourcePrefix=prefix)
    source = looked_at(stack)["partner source"]
    assert source.works is False
    assert "Deploy with SourcePrefix=" in source.said


def test_a_rule_on_the_wrong_bus_is_well_where_another_passes_events_on_to_it() -> None:
    bus = f"arn:aws:events:{REGION}:{ACCOUNT}:event-bus/contact-centre"
    rules = {SOURCE: {"pass-on": bus}}
    source = looked_at(FakeStack("contact-centre", {SOURCE: "ACTIVE"}, rules))["partner source"]
    assert source.works is None
    elsewhere = {SOURCE: {"log": QUEUE}}
    stack = FakeStack("contact-centre", {SOURCE: "ACTIVE"}, elsewhere)
    assert looked_at(stack)["partner source"].works is False


def test_where_genesys_was_never_set_up_that_is_said_and_nothing_is_broken() -> None:
    source = looked_at(FakeStack("default"))["partner source"]
    assert source.works is None
    assert "never reach the bus default by themselves" in source.said
    assert "#set-up-the-genesys-side" in source.said


def test_a_stack_for_events_of_ones_own_has_no_partner_source() -> None:
    assert "partner source" not in looked_at(FakeStack("default", SourcePrefix="shop."))


def test_a_deleted_or_disabled_rule_names_its_remedy() -> None:
    gone = FakeStack("default")
    gone.outputs["EventRuleName"] = "another"
    assert "deploy again" in looked_at(gone)["rule"].said
    disabled = looked_at(FakeStack("default", state="DISABLED"))["rule"]
    assert disabled.works is False
    helps = "aws events enable-rule --name once-events --event-bus-name default"
    assert helps in disabled.said


@pytest.mark.local
def test_a_rule_that_is_disabled_is_found_on_a_real_stack(operated: DeployedStack) -> None:
    rule = {"Name": operated.outputs["EventRuleName"], "EventBusName": "default"}
    stack = Stack.find(None, None, None)
    assert looked_at(stack)["rule"].works is None
    operated.client("events").disable_rule(**rule)
    try:
        assert looked_at(stack)["rule"].works is False
    finally:
        operated.client("events").enable_rule(**rule)
