"""`once check` names each cause for which no event reaches the queue, and what to do."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from once.genesys.script import Reply
from once.genesys.server import GenesysServer
from once.operate import event_source, integration
from once.operate.checks import Check
from once.operate.stack import Stack
from proof.deployed import DeployedStack
from tests.enrichment import sdk

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


# The side of Genesys Cloud, as its imitation on this machine shows it.

TOPICS = ["v2.users.{id}.presence", "v2.detail.events.conversation.{id}.customer.end"]
SENT: dict[str, Any] = {
    "awsAccountId": ACCOUNT,
    "awsAccountRegion": REGION,
    "eventSourceSuffix": "live",
    "eventFilter": TOPICS,
}


class Organisation(GenesysServer):
    """Shows its integrations, a page each, and the configuration of each."""

    integrations: Sequence[Mapping[str, Any]] = ()

    def view(self, path: str, authorization: str) -> Reply:
        parts = urlsplit(path)
        if self._token(authorization) is None:
            return Reply(status=401)
        if parts.path == "/api/v2/integrations":
            number = int(parse_qs(parts.query)["pageNumber"][0])
            page = self.integrations[number - 1 : number]
            shown = [{k: v for k, v in one.items() if k != "config"} for one in page]
            return Reply(body={"entities": shown, "pageCount": len(self.integrations)})
        for one in self.integrations:
            if parts.path == f"/api/v2/integrations/{one['id']}/config/current":
                return Reply(body=one["config"])
        return Reply(status=404)


@pytest.fixture
def genesys() -> Iterator[Organisation]:
    with Organisation() as server:
        yield server


def asked(
    genesys: Organisation,
    *integrations: Mapping[str, Any],
    topics: str = "*",
    state: str = "ACTIVE",
    secret: str | None = None,
    bus: str = SOURCE,
) -> Check:
    """Returns the answers of check, with these integrations behind one of another type."""
    genesys.integrations = [
        {"id": "i0", "name": "Actions", "integrationType": {"id": "custom-rest-actions"}},
        *(
            {
                "id": f"i{number}",
                "name": "To AWS",
                "integrationType": {"id": "amazon-eventbridge-source"},
                "reportedState": {"code": properties.get("state", state)},
                "config": {"properties": properties},
            }
            for number, properties in enumerate(integrations, 1)
        ),
    ]
    stack: Any = FakeStack(bus, GenesysHost=genesys.url, DetailTypes=topics)
    (one,) = integration.check_integration(
        stack,
        {
            integration.CLIENT_ID: genesys.client_id,
            integration.CLIENT_SECRET: secret or genesys.client_secret,
        },
    )
    return one


def test_an_integration_that_sends_all_that_the_rule_takes_is_well(genesys: Organisation) -> None:
    assert asked(genesys, SENT).works is True
    some = asked(genesys, {**SENT, "eventSourceSuffix": "other"}, SENT, topics=TOPICS[0])
    assert some.works is True
    assert f"does not take {TOPICS[1]}" in some.said


@pytest.mark.parametrize(
    ("changed", "topics", "state", "said"),
    [
        ({}, "*", "INACTIVE", "To AWS is INACTIVE, so nothing is sent. Set it to active"),
        ({"eventSourceSuffix": "other"}, "*", "ACTIVE", "none sends to live; there is other"),
        ({"awsAccountRegion": "us-east-1"}, "*", "ACTIVE", "change it in Genesys Cloud"),
        (
            {"eventFilter": TOPICS[:1]},
            ",".join(TOPICS),
            "ACTIVE",
            f"does not send {TOPICS[1]}, for which the rule waits. Add it",
        ),
    ],
)
def test_an_integration_without_the_topics_names_the_change(
    genesys: Organisation, changed: Mapping[str, Any], topics: str, state: str, said: str
) -> None:
    one = asked(genesys, {**SENT, **changed}, topics=topics, state=state)
    assert one.works is False
    assert said in one.said


def test_topics_may_stand_apart_by_commas_and_spaces(genesys: Organisation) -> None:
    one = asked(genesys, SENT, topics=", ".join(TOPICS))
    assert (one.works, one.said) == (True, "ACTIVE, 2 topics")


@pytest.mark.parametrize("other", [{"state": "INACTIVE"}, {"awsAccountRegion": "us-east-1"}])
def test_on_a_bus_of_ones_own_one_active_integration_is_enough(
    genesys: Organisation, other: Mapping[str, Any]
) -> None:
    others = {**SENT, "eventSourceSuffix": "test", **other}
    for both in ((SENT, others), (others, SENT)):
        assert asked(genesys, *both, bus="contact-centre").works is True
    assert asked(genesys, SENT, SENT, bus="contact-centre", state="INACTIVE").works is False


def test_on_a_bus_of_ones_own_events_may_come_from_another_region(genesys: Organisation) -> None:
    elsewhere = {**SENT, "awsAccountRegion": "us-east-1"}
    one = asked(genesys, elsewhere, bus="contact-centre")
    assert one.works is None
    assert f"To AWS sends to {ACCOUNT}, us-east-1" in one.said
    assert asked(genesys, bus="contact-centre").works is False


def test_credentials_that_are_refused_break_nothing_and_are_said(genesys: Organisation) -> None:
    one = asked(genesys, SENT, secret="wrong")
    assert one.works is None
    assert "answered 401" in one.said
    assert integration.CLIENT_SECRET in one.said
    genesys.script.token.seconds = 0
    assert "integrations:integration:view" in asked(genesys, SENT).said


def test_without_credentials_a_partner_source_says_which_to_give() -> None:
    def without(bus: str) -> list[Check]:
        stack: Any = FakeStack(bus)
        return list(integration.check_integration(stack, {}))

    (one,) = without(SOURCE)
    assert one.works is None
    assert integration.CLIENT_ID in one.said
    assert without("default") == []


def test_the_integration_is_read_as_the_sdk_of_genesys_names_it() -> None:
    assert {"integrationType", "reportedState"} <= sdk.fields("Integration").keys()
    assert "code" in sdk.fields("IntegrationStatusInfo")
    assert "properties" in sdk.fields("IntegrationConfiguration")
    assert {"entities", "pageCount"} <= sdk.fields("IntegrationEntityListing").keys()
