"""Which route takes an event, what the element says of it, and which faults of the file are found.

The lines of faults are once/routes' and are tested there.
"""

import re
import tomllib
from typing import Any

import pytest
from once_data_action.genesys import COMMON
from once_enrichment import handler
from once_enrichment.routes import InvalidRoutesError, faults, parse_routes

from tests.enrichment.examples import USER, agent, presence, snapshot
from tests.enrichment.sending import element

SHIPPED = handler._FOLDER / "routes.toml"
REST = '[[routes]]\nfamily = "*"\naction = "none"\n'
SENT = '[[routes]]\nfamily = "*"\naction = "send"\n'
ABANDONED = """[[routes]]
name = "abandoned calls"
family = "conversation.acd.end"
when.body.acdOutcome = ["ABANDON"]
when.body.mediaType = ["VOICE"]
max_age = "5m"
action = "custom_-_1"
inputs = { conversation = "ids.conversationId" }
"""


def event(family: str = "conversation.acd.end", **fields: Any) -> dict[str, Any]:
    return {"family": family, "body": {}, **fields}


def routed(text: str, given: dict[str, Any]) -> dict[str, Any]:
    file = parse_routes("routes.toml", text)
    return file.describe(file.take(given), given)


def named(name: str, family: str, more: str = "", action: str = "a") -> str:
    return f'[[routes]]\nname = "{name}"\nfamily = "{family}"\naction = "{action}"\n{more}\n'


NONE = {"name": "*", "action": "none", "ignored": "NO_ROUTE_MATCHED"}


@pytest.mark.parametrize(
    ("text", "given", "says"),
    [
        (
            ABANDONED + REST,
            event(body={"acdOutcome": "ABANDON", "mediaType": "VOICE"}),
            {
                "name": "abandoned calls",
                "action": "custom_-_1",
                "inputs": {"conversation": "ids.conversationId"},
            },
        ),
        (
            ABANDONED + REST,
            event(body={"acdOutcome": "ANSWERED", "mediaType": "VOICE"}),
            NONE
            | {"detail": 'route "abandoned calls" wants body.acdOutcome ABANDON, this is ANSWERED'},
        ),
        (
            ABANDONED + REST,
            event("user.presence"),
            NONE | {"detail": "no route is for the family user.presence"},
        ),
        (
            named("no chats", "conversation.*", action="none") + SENT,
            event("conversation.chat"),
            {"name": "no chats", "action": "none", "ignored": "ROUTE_IS_NONE"},
        ),
        (SENT, event(), {"name": "*", "action": "send"}),
        (SHIPPED.read_text("utf-8"), event(), {"name": "*", "action": "send"}),
    ],
)
def test_event_says_what_its_route_wants(
    text: str, given: dict[str, Any], says: dict[str, Any]
) -> None:
    assert routed(text, given) == says


def test_first_route_that_matches_decides() -> None:
    text = named("exact", "a.b.c") + named("beginning", "a.b.*") + named("other", "a.*") + REST
    families = {"a.b.c": "exact", "a.b.d": "beginning", "a.b": "other", "a": "*", "ab.c": "*"}
    assert {family: routed(text, event(family))["name"] for family in families} == families
    wide_first = named("other", "a.*") + text
    assert routed(wide_first, event("a.b.c"))["name"] == "other"


@pytest.mark.parametrize(
    ("when", "body", "detail"),
    [
        (
            'ani = [{prefix = "tel:+44"}]',
            {"ani": "tel:+4912345"},
            'ani prefix "tel:+44", this is another',
        ),
        ('name = ["Ada"]', {"name": "Grace @ Hopper"}, "name Ada, this is another"),
        ("held = [true]", {"held": False}, "held true, this is another"),
        ('state = ["BUSY", "AWAY"]', {}, "state BUSY or AWAY, this has none"),
    ],
)
def test_detail_quotes_no_value_that_may_be_private(
    when: str, body: dict[str, Any], detail: str
) -> None:
    text = named("mine", "conversation.acd.end", f"when.body.{when}") + REST
    detail_of_route = routed(text, event(body=body))["detail"]
    assert detail_of_route == f'route "mine" wants body.{detail}'


def test_detail_is_short_however_long_the_lists_are() -> None:
    many = [f"0a1b2c3d-0000-4000-8000-{n:012}" for n in range(200)]
    text = named("mine", "conversation.acd.end", f"when.body.queueId = {many}")
    assert len(routed(text + REST, event())["detail"]) == 300


@pytest.mark.parametrize(
    ("age", "ms"), [("90s", 90_000), ("5m", 300_000), ("2h", 7_200_000), ("1d", 86_400_000)]
)
def test_age_limit_has_a_unit(age: str, ms: int) -> None:
    made = element(presence(), parse_routes("r", f'{SENT}max_age = "{age}"'))
    assert made["expiresAtMs"] == made["occurredAtMs"] + ms
    assert "expiresAtMs" not in element(presence(), parse_routes("r", SENT))


@pytest.mark.parametrize(
    "when",
    [
        'family = ["user.presence"]',
        'state = ["AVAILABLE"]',
        'subject.type = ["user"]',
        f'ids.userId = ["{USER}"]',
        "body.primary = [true]",
        'metadata.action = ["x"]',
    ],
)
def test_route_matches_by_any_part_of_an_event(when: str) -> None:
    file = parse_routes("r", named("mine", "user.*", f"when.{when}") + REST)
    one = presence()
    one["detail"]["metadata"]["action"] = "x"
    assert element(one, file)["route"]["name"] == "mine"


def test_inputs_may_come_from_any_part_of_an_element() -> None:
    sources = [*COMMON.values(), "topic", "organizationId", "publishedAt", "key.pk", "key.sk"]
    sources += ["body", "body.a.b", "trace.eventId", "metadata.action"]
    lines = ", ".join(f'i{n} = "{source}"' for n, source in enumerate(sources))
    assert [*faults(tomllib.loads(named("x", "a", f"inputs = {{ {lines} }}") + REST))] == []


def test_state_of_an_event_that_has_none_is_absent() -> None:
    text = named("stateless", "user.*", "when.state = [{ exists = false }]") + REST
    assert element(snapshot(), parse_routes("r", text))["route"]["name"] == "stateless"
    assert element(presence(), parse_routes("r", text))["route"]["name"] == "*"


def test_examples_in_the_shipped_file_are_valid() -> None:
    """They are comments, so their routes are read without the marks of one."""
    text = SHIPPED.read_text("utf-8").replace("…", "1")
    lines = [re.sub(r"^#   ( *)(?=[\[\]\"a-z])", r"\1", line) for line in text.splitlines()]
    code = "\n".join(line for line in lines[lines.index("[[routes]]") :] if line[:1] != "#")
    blocks = re.split(r"(?m)^(?=facts = \[\"participants)", code)
    file = parse_routes("r", blocks[0] + blocks[-1][blocks[-1].index("[[routes]]") :])
    names = [route.name for route in file.routes]
    assert names == ["abandoned calls", "text message after a call", "calls of a user", "*"]


@pytest.mark.parametrize(
    ("fact", "change"),
    [
        ("calls.*.state", {"state": "disconnected"}),
        ("calls.*.confined", {"confined": True}),
        ("calls.*.held", {"held": True}),
        ("calls.*.muted", {"muted": True}),
        ("*.*.state", {"state": "disconnected"}),
    ],
)
def test_shipped_facts_see_their_change_and_no_other(fact: str, change: dict[str, Any]) -> None:
    assert f'"participants.*.{fact}"' in SHIPPED.read_text("utf-8")
    text = named("f", "user.*", f'facts = ["participants.*.{fact}"]') + SENT
    calls = [{"confined": False} | call for call in ({}, {"label": "vip"}, change)]
    file = parse_routes("routes.toml", text)
    one, same, other = (element(snapshot(agent(**call)), file)["facts"] for call in calls)
    assert one == same != other


FAMILY = '[[routes]]\nfamily = "a"\n'


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        ("", "routes", "no [[routes]]"),
        ('family = "*"\n', "routes", "no [[routes]]"),
        (f"[actions]\n{REST}", "actions", '"actions" is not known here'),
        (f'{FAMILY}action = "a"\nurl = "b"\n{REST}', "routes.0.url", '"url" is not known here'),
        (f'[[routes]]\naction = "a"\n{REST}', "routes.0.family", "family is"),
        (f'[[routes]]\nfamily = "user.*.x"\naction = "a"\n{REST}', "routes.0.family", "family is"),
        (f"{FAMILY}{REST}", "routes.0.action", "action is"),
        (f'{FAMILY}action = "../../users"\n{REST}', "routes.0.action", "action is"),
        (named("x", "a", "max_age = 60") + REST, "routes.0.max_age", "max_age is"),
        (named("x", "a", "order = 1") + REST, "routes.0.order", "order is"),
        (named("x", "a", 'order = "newest"') + REST, "routes.0.order", "order is"),
        (named("x", "a", 'facts = "a.b"') + REST, "routes.0.facts", "facts are"),
        (named("x", "a", "facts = []") + REST, "routes.0.facts", "facts are"),
        (named("x", "a", 'facts = ["a..b"]') + REST, "routes.0.facts", "facts are"),
        (named("x", "a", 'facts = ["a"]\norder = "every"') + REST, "routes.0.order", "remove one"),
        (named("x", "a", "facts = [1]") + REST, "routes.0.facts", "facts are"),
        (f'{FAMILY}action = "a"\nname = "\\u001b"\n{REST}', "routes.0.name", "name is"),
        (named("x", "a", 'when = "x"') + REST, "routes.0.when", "a pattern names"),
        (named("x", "a", 'when.state = "x"') + REST, "routes.0.when.state", "a list of"),
        (named("x", "a", 'when.queueId = ["x"]') + REST, "routes.0.when.queueId", "no field"),
        (named("x", "a", 'inputs = "x"') + REST, "routes.0.inputs", "inputs are"),
        (named("x", "a", "inputs.x = 1") + REST, "routes.0.inputs.x", "inputs are"),
        (named("x", "a", 'inputs.x = "ids."') + REST, "routes.0.inputs.x", 'no "ids."'),
        (f'{FAMILY}action = "a"\n', "routes.0", "the last route"),
        ('[[routes]]\nfamily = "*"\nwhen.state = ["x"]\naction = "a"\n', "routes.0", "the last"),
    ],
)
def test_fault_is_told_with_its_place_and_raises(text: str, path: str, says: str) -> None:
    place, sentence = next(faults(tomllib.loads(text)))
    assert ".".join(map(str, place)) == path
    assert says in sentence
    with pytest.raises(InvalidRoutesError, match=r"^mine\.toml, .*once routes check"):
        parse_routes("mine.toml", text)
