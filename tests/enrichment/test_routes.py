"""Which route takes an event, what the element says of it, and how a fault in the file is told."""

import re
from pathlib import Path
from typing import Any

import pytest
from once_enrichment.routes_file import InvalidRoutesError, check, read

SHIPPED = Path(__file__).parents[2] / "functions" / "enrichment" / "routes.toml"
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
    return {"family": family, "occurredAtMs": 1_000_000, "body": {}, **fields}


def routed(text: str, given: dict[str, Any]) -> dict[str, Any]:
    read("routes.toml", text).add_to(given)
    return given


def taken(text: str, given: dict[str, Any]) -> str:
    name: str = routed(text, given)["route"]["name"]
    return name


def named(name: str, family: str, more: str = "") -> str:
    return f'[[routes]]\nname = "{name}"\nfamily = "{family}"\naction = "a"\n{more}\n'


def test_event_says_what_its_route_wants() -> None:
    given = event(body={"acdOutcome": "ABANDON", "mediaType": "VOICE"})
    routed(ABANDONED + REST, given)
    assert given["route"] == {
        "name": "abandoned calls",
        "action": "custom_-_1",
        "inputs": {"conversation": "ids.conversationId"},
    }
    assert given["expiresAtMs"] == 1_000_000 + 5 * 60_000


def test_event_of_a_plain_route_says_no_more_than_name_and_action() -> None:
    given = routed(SENT, event())
    assert given["route"] == {"name": "*", "action": "send"}
    assert "expiresAtMs" not in given


def test_first_route_that_matches_decides() -> None:
    text = named("exact", "a.b.c") + named("beginning", "a.b.*") + named("other", "a.*") + REST
    families = {"a.b.c": "exact", "a.b.d": "beginning", "a.b": "other", "a": "*", "ab.c": "*"}
    assert {family: taken(text, event(family)) for family in families} == families
    wide_first = named("other", "a.*") + REST
    assert taken(wide_first, event("a.b.c")) == "other"


def test_event_that_no_route_wants_says_what_they_wanted() -> None:
    given = routed(ABANDONED + REST, event(body={"acdOutcome": "ANSWERED", "mediaType": "VOICE"}))
    assert given["route"] == {
        "name": "*",
        "action": "none",
        "ignored": "NO_ROUTE_MATCHED",
        "detail": 'route "abandoned calls" wants body.acdOutcome ABANDON, this is ANSWERED',
    }


def test_event_of_another_family_says_that_no_route_is_for_it() -> None:
    given = routed(ABANDONED + REST, event("user.presence"))
    assert given["route"]["detail"] == "no route is for the family user.presence"


def test_event_of_a_route_to_none_says_so() -> None:
    text = named("no chats", "conversation.*").replace('"a"', '"none"') + SENT
    given = routed(text, event("conversation.chat"))
    assert given["route"] == {"name": "no chats", "action": "none", "ignored": "ROUTE_IS_NONE"}


@pytest.mark.parametrize(
    ("when", "body", "detail"),
    [
        (
            'ani = [{prefix = "tel:+44"}]',
            {"ani": "tel:+4912345"},
            'ani prefix "tel:+44", this is another',
        ),
        ('name = ["Ada"]', {"name": "Grace Hopper"}, "name Ada, this is another"),
        ("held = [true]", {"held": False}, "held true, this is another"),
        ('state = ["BUSY", "AWAY"]', {}, "state BUSY or AWAY, this has none"),
    ],
)
def test_detail_quotes_no_value_that_may_be_private(
    when: str, body: dict[str, Any], detail: str
) -> None:
    text = named("mine", "conversation.acd.end", f"when.body.{when}") + REST
    given = routed(text, event(body=body))
    assert given["route"]["detail"] == f'route "mine" wants body.{detail}'


def test_detail_names_three_routes_and_counts_the_others() -> None:
    text = "".join(
        named(f"r{n}", "conversation.acd.end", f'when.state = ["S{n}"]') for n in range(5)
    )
    detail = routed(text + REST, event())["route"]["detail"]
    assert 'route "r2"' in detail
    assert detail.endswith("; and 2 more")


def test_detail_is_short_however_long_the_lists_are() -> None:
    many = [f"0a1b2c3d-0000-4000-8000-{n:012}" for n in range(200)]
    text = named("mine", "conversation.acd.end", f"when.body.queueId = {many}")
    assert len(routed(text + REST, event())["route"]["detail"]) <= 300


@pytest.mark.parametrize(
    ("age", "ms"), [("90s", 90_000), ("5m", 300_000), ("2h", 7_200_000), ("1d", 86_400_000)]
)
def test_age_limit_has_a_unit(age: str, ms: int) -> None:
    given = routed(f'[[routes]]\nfamily = "*"\naction = "a"\nmax_age = "{age}"', event())
    assert given["expiresAtMs"] == 1_000_000 + ms


def test_shipped_file_sends_everything() -> None:
    given = routed(SHIPPED.read_text("utf-8"), event())
    assert given["route"] == {"name": "*", "action": "send"}


def test_examples_in_the_shipped_file_are_valid() -> None:
    text = SHIPPED.read_text("utf-8").replace("…", "1")
    keys = "name|family|when|max_age|action|inputs"
    with_examples = re.sub(rf"(?m)^#   (?=\[\[routes\]\]|({keys})[. ]+\S* ?= )", "", text)
    routes, findings = check(with_examples)
    assert findings == []
    assert [route.name for route in routes] == ["abandoned calls", "text message after a call", "*"]


FAMILY = '[[routes]]\nfamily = "a"\n'


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "no [[routes]]"),
        ('family = "*"\n', 1, '"family" is in no route'),
        ('[[routes]]\nfamily = "*\n', 2, "not TOML"),
        (f"[actions]\n{REST}", 1, '"actions" is not known here'),
        (f'{FAMILY}action = "a"\nurl = "b"\n{REST}', 4, '"url" is not known here'),
        (f'[[routes]]\naction = "a"\n{REST}', 1, "family is"),
        (f'[[routes]]\nfamily = "user.*.x"\naction = "a"\n{REST}', 2, "family is"),
        (f"{FAMILY}{REST}", 1, "action is"),
        (f'{FAMILY}action = "../../users"\n{REST}', 3, "action is"),
        (f'{FAMILY}action = "a"\nmax_age = 60\n{REST}', 4, "max_age is"),
        (f'{FAMILY}action = "a"\nmax_age = "0s"\n{REST}', 4, "max_age is"),
        (f'{FAMILY}action = "a"\nname = "\\u001b"\n{REST}', 4, "name is"),
        (f'{FAMILY}action = "a"\nwhen = "x"\n{REST}', 4, "a pattern names"),
        (f'{FAMILY}action = "a"\nwhen.state = "x"\n{REST}', 4, "a list of values"),
        (f'{FAMILY}action = "a"\nwhen.body.x = [\n  {{is = "x"}},\n]\n{REST}', 6, "no operator"),
        (f'{FAMILY}action = "a"\nwhen.queueId = ["x"]\n{REST}', 4, '"queueId" is no field'),
        (f'{FAMILY}action = "a"\ninputs = "x"\n{REST}', 4, "inputs are"),
        (f'{FAMILY}action = "a"\ninputs.x = 1\n{REST}', 4, "inputs are"),
        (f'{FAMILY}action = "a"\ninputs.x = "subjekt.id"\n{REST}', 4, 'no "subjekt.id"; there are'),
        (f'{FAMILY}action = "a"\ninputs.x = "ids."\n{REST}', 4, 'no "ids."'),
        (f'{FAMILY}action = "a"\n', 1, "the last route"),
        ('[[routes]]\nfamily = "*"\nwhen.state = ["x"]\naction = "a"\n', 1, "the last route"),
        (f"{named('x', 'a')}{named('x', 'b')}{REST}", 6, 'another route is named "x"'),
        (f"{named('x', 'a.*')}{named('y', 'a.b')}{REST}", 6, 'no event reaches this route: "x"'),
        (f"{REST}{SENT}", 4, "no event reaches"),
    ],
)
def test_fault_is_told_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(InvalidRoutesError, match=re.escape(f"mine.toml, line {line}: ")):
        read("mine.toml", text)
    finding = check(text)[1][0]
    assert finding.line == line
    assert says in finding.text


def test_every_fault_is_found_in_one_go() -> None:
    text = f'{FAMILY}max_age = 1\naction = "a b"\n[[routes]]\nfamily = "b"\nname = 1\n{REST}'
    assert [finding.line for finding in check(text)[1]] == [3, 4, 5, 7]


@pytest.mark.parametrize(
    ("earlier", "later", "hidden"),
    [
        ('when.state = ["A", "B"]', 'when.state = ["B"]', True),
        ('when.state = ["B"]', 'when.state = ["A", "B"]', False),
        ('when.state = ["B"]', 'when.state = ["B"]\nwhen.body.x = ["1"]', True),
        ('when.state = ["B"]\nwhen.body.x = ["1"]', 'when.state = ["B"]', False),
        ('when.state = ["B"]', "", False),
        ("", 'when.state = ["B"]', True),
        ('when.state = [{prefix = "A"}]', 'when.state = [{prefix = "A"}]', True),
        ('when."$or" = [{state = ["A"]}, {state = ["B"]}]', 'when.state = ["A"]', False),
        (
            'when."$or" = [{state = ["A"]}, {state = ["B"]}]',
            'when."$or" = [{state = ["A"]}, {state = ["B"]}]',
            True,
        ),
        ('when.state = ["A"]', 'when."$or" = [{state = ["A"]}, {state = ["B"]}]', False),
    ],
)
def test_route_that_an_earlier_one_hides_is_told(earlier: str, later: str, hidden: bool) -> None:
    findings = check(named("x", "a", earlier) + named("y", "a", later) + REST)[1]
    assert bool(findings) is hidden
