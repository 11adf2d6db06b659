"""The operator's file: what it can say, and how its faults are told."""

import pytest
from data_action import mapping
from data_action.errors import NotConfigured

from tests.data_action.support import MAPPING, Bench, event

INPUTS = '[inputs]\nkey = "idempotencyKey"\n'


def test_the_mapping_we_ship_has_no_fault_and_carries_the_key() -> None:
    text = MAPPING.read_text("utf-8")
    assert [finding for finding in mapping.check(text) if finding.fatal] == []
    action = mapping.read("actions.toml", text).action_for("user.presence")
    assert {"idempotencyKey", "occurredAtMs"} <= set(action.inputs.values())


def test_the_example_in_the_comments_of_the_mapping_we_ship_is_valid() -> None:
    lines = MAPPING.read_text("utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("#   ["))
    example = "\n".join(line[4:] for line in lines[start : start + 3])
    found = mapping.check(f"{example.replace('…', '1')}\n")
    assert found == []


def test_the_longest_match_wins() -> None:
    actions = mapping.read(
        "actions.toml",
        f"""{INPUTS}
[actions]
"*" = "rest"
"conversation.*" = "conversations"
"conversation.acd.*" = "acd"
"conversation.acd.start" = "start"
"a.b.*" = "pattern"
"a.b.c" = "exact"
"call-started" = "our-own"
""",
    )
    for family, wanted in {
        "conversation.acd.start": "start",
        "conversation.acd.started": "acd",
        "conversation.acd.end": "acd",
        "conversation.acd": "conversations",
        "conversations": "rest",
        "a.b.c": "exact",
        "a.b.d": "pattern",
        "call-started": "our-own",
    }.items():
        assert actions.action_for(family).id == wanted


def test_a_family_without_an_action_is_a_fault_of_the_set_up() -> None:
    actions = mapping.read("actions.toml", f'[actions]\n"user.presence" = "a"\n{INPUTS}')
    with pytest.raises(NotConfigured, match=r"no data action for the family user\.station; add"):
        actions.action_for("user.station")


def test_a_family_can_be_observed_only(make) -> None:
    bench: Bench = make("genesys", f'[actions]\n"*" = "none"\n{INPUTS}')
    assert bench.call() == {"version": "2", "result": "OBSERVED", "calls": 0}
    assert bench.server.log == []


def test_an_action_with_its_own_inputs_gets_only_those() -> None:
    actions = mapping.read(
        "actions.toml",
        f'{INPUTS}[actions."*"]\nid = "a"\ninputs = {{ k = "idempotencyKey", q = "ids.queueId" }}',
    )
    inputs = mapping.inputs_for(actions.action_for("x"), event(), "key", None)
    assert inputs == {"k": "key", "q": "q"}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("subject.id", "c1"),
        ("occurredAtMs", 1_777_888_800_123),
        ("ids.absentId", None),
        ("body.deep.list.1.name", "second"),
        ("body.deep.list.7.name", None),
        ("body.deep.list.name", None),
        ("body.Customer Tier", "gold"),
        ("body.flag", False),
        ("body.nothing", None),
        ("body.deep", '{"list":[{"name":"first"},{"name":"second"}]}'),
        ("body.scalar.deeper", None),
    ],
)
def test_where_a_value_comes_from(source: str, wanted: object) -> None:
    body = {
        "deep": {"list": [{"name": "first"}, {"name": "second"}]},
        "Customer Tier": "gold",
        "flag": False,
        "nothing": None,
        "scalar": "text",
    }
    action = mapping.read(
        "actions.toml", f'[actions]\n"*" = "a"\n[inputs]\nvalue = "{source}"\n'
    ).action_for("x")
    inputs = mapping.inputs_for(action, event(), "key", body)
    assert inputs == ({} if wanted is None else {"value": wanted})


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("", 1, "no [actions]"),
        ("\n\n[actions]\n", 3, "no [actions]"),
        ('[actions]\n"*" = "a\n', 2, "not TOML"),
        ('[actions]\n"*" = "a"\n"*" = "b"\n', 3, "not TOML"),
        ('[actions]\n"*" = "a"\n\n[input]\nx = "state"\n', 4, '"input" is not known here'),
        ('[actions]\n"user.*.x" = "a"\n', 2, '"user.*.x" is not a family'),
        ('[actions]\n\n"*" = 5\n', 3, "wants the id"),
        ('[actions."*"]\ninputs = {}\n', 1, "wants the id"),
        ('[actions."*"]\nid = "a"\nurl = "b"\n', 3, '"url" is not known here'),
        ('[actions]\n"*" = "../../users"\n', 2, "is not the id of a data action"),
        ('[actions]\n"*" = "a"\n[inputs]\nx = 5\n', 4, "as a text in quotes"),
        ('[actions]\n"*" = "a"\n[inputs]\n\nx = "subjekt.id"\n', 5, 'no "subjekt.id"; there are'),
        (
            '[actions]\n"*" = "a"\n[inputs]\nx = "y"\n',
            4,
            "there are body, family, idempotencyKey, key.pk",
        ),
        ('[actions]\n"*" = "a"\n[inputs]\nx = "ids."\n', 4, 'no "ids."'),
        ('[actions]\n"*" = "a"\n[inputs]\nx = "body..y"\n', 4, 'no "body..y"'),
        ('inputs = "state"\n[actions]\n"*" = "a"\n', 1, "inputs are a table"),
        ('[actions."*"]\nid = "a"\n[actions."*".inputs]\nx = "y"\n', 4, 'no "y"'),
    ],
)
def test_a_fault_is_told_with_its_line(text: str, line: int, says: str) -> None:
    with pytest.raises(NotConfigured) as raised:
        mapping.read("actions.toml", text)
    assert f"actions.toml, line {line}: " in str(raised.value)
    finding = next(finding for finding in mapping.check(text) if finding.fatal)
    assert finding.line == line
    assert says in finding.text


def test_every_fault_is_found_in_one_go() -> None:
    text = '[actions]\n"a b" = "x"\n"*" = 5\n[inputs]\nx = "y"\n'
    assert [finding.line for finding in mapping.check(text) if finding.fatal] == [2, 3, 5]


def test_what_is_doubtful_is_told_and_does_not_stop_a_call() -> None:
    text = '[actions]\n"*" = "custom_-_00000000-0000-0000-0000-000000000000"\n'
    findings = mapping.check(text)
    assert [finding.fatal for finding in findings] == [False, False]
    assert "example" in findings[0].text
    assert "idempotencyKey" in findings[1].text
    mapping.read("actions.toml", text)
