"""The pattern language, by the examples of AWS's documents and of its matcher."""

from functools import partial
from typing import Any

import pytest
from moto.events.models import EventPattern
from once_enrichment.patterns import PatternError, read

Event = dict[str, Any]

# A pattern, an event that it wants, and one that it does not.
# https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
DOCUMENTED: list[tuple[Event, Event, Event]] = [
    ({"name": ["Alice"]}, {"name": "Alice"}, {"name": "alice"}),
    ({"name": [""]}, {"name": ""}, {"name": None}),
    ({"user": [None]}, {"user": None}, {"user": ""}),
    ({"price": [100]}, {"price": 100.0}, {"price": "100"}),
    ({"city": ["Oslo"], "day": ["Monday"]}, {"city": "Oslo", "day": "Monday"}, {"city": "Oslo"}),
    ({"pay": ["Credit", "Debit"]}, {"pay": "Debit"}, {"pay": "Cash"}),
    ({"weekday": [{"anything-but": "Monday"}]}, {"weekday": "Friday"}, {"weekday": "Monday"}),
    ({"state": [{"anything-but": ["stopped", "over"]}]}, {"state": "up"}, {"state": "over"}),
    ({"limit": [{"anything-but": 123}]}, {"limit": 124}, {"limit": 123}),
    ({"limit": [{"anything-but": [100, 200]}]}, {"limit": 101}, {"limit": 200}),
    (
        {"time": [{"prefix": "2017-10-02"}]},
        {"time": "2017-10-02T18:43:48Z"},
        {"time": "2017-10-03"},
    ),
    ({"file": [{"suffix": ".png"}]}, {"file": "a.png"}, {"file": "png.txt"}),
    ({"product": [{"exists": True}]}, {"product": None}, {"other": 1}),
    ({"product": [{"exists": False}]}, {"other": 1}, {"product": "book"}),
    ({"d-count": [{"numeric": ["<", 10]}]}, {"d-count": -1}, {"d-count": 10}),
    ({"n": [{"numeric": [">=", 1, "<=", 2]}]}, {"n": 1}, {"n": 3}),
    ({"n": [{"numeric": [">=", 1, "<", 2]}]}, {"n": 1}, {"n": 2}),
    ({"n": [{"numeric": [">", 1, "<", 3]}]}, {"n": 2}, {"n": 1}),
    (
        {"c-count": [{"numeric": [">", 0, "<=", 5]}], "x-limit": [{"numeric": ["=", 3.018e2]}]},
        {"c-count": 5, "x-limit": 301.8},
        {"c-count": 0, "x-limit": 301.8},
    ),
    (
        {"time": [{"prefix": "2017"}], "detail": {"state": [{"anything-but": "x"}], "c": [1]}},
        {"time": "2017-10-02T18", "detail": {"state": "up", "c": 1}},
        {"time": "2017-10-02T18", "detail": {"state": "up", "c": 2}},
    ),
]


@pytest.mark.parametrize(("pattern", "wanted", "unwanted"), DOCUMENTED)
def test_documented_example_matches_here_and_in_moto(
    pattern: Event, wanted: Event, unwanted: Event
) -> None:
    for matches in (read(pattern).matches, partial(_moto, pattern)):
        assert matches(wanted)
        assert not matches(unwanted)


def _moto(pattern: Event, event: Event) -> bool:
    return bool(EventPattern(None, pattern).matches_event(event))  # type: ignore[arg-type]  # any JSON


# What AWS's own matcher, event-ruler, makes of lists and of values of several types.
# https://github.com/aws/event-ruler#json-array-matching
@pytest.mark.parametrize(
    ("pattern", "event", "matches"),
    [
        ({"a": [1]}, {"a": True}, False),
        ({"a": [True]}, {"a": 1}, False),
        ({"a": [{"numeric": ["=", 1]}]}, {"a": True}, False),
        ({"a": [{"numeric": ["=", 1]}]}, {"a": "1"}, False),
        ({"a": [{"anything-but": "x"}]}, {"a": None}, True),
        ({"a": [{"anything-but": "x"}]}, {}, False),
        ({"a": [{"prefix": ""}]}, {"a": None}, False),
        ({"a": ["x"]}, {"a": ["x", "y"]}, True),
        ({"a": [{"anything-but": "x"}]}, {"a": ["x", "y"]}, True),
        ({"a": [1]}, {"a": [[1]]}, True),
        ({"a": ["x"]}, {"a": [{"b": 1}, "x"]}, True),
        ({"a": [{"exists": True}]}, {"a": []}, False),
        ({"a": [{"exists": True}]}, {"a": {"b": 1}}, False),
        ({"a": [{"exists": False}]}, {"a": {"b": 1}}, True),
        ({"a": [{"exists": False}, "x"]}, {"a": "x"}, True),
        ({"a": {"b": [1], "c": [2]}}, {"a": [{"b": 1}, {"c": 2}]}, False),
        ({"a": {"b": [1], "c": [2]}}, {"a": [{"b": 1}, {"b": 1, "c": 2}]}, True),
        ({"a": {"b": [{"exists": False}]}}, {"a": [{"b": 1}, {"c": 2}]}, False),
        ({"a": {"b": [{"exists": False}]}}, {"a": 1}, True),
        ({"a": {"b": [{"exists": False}]}}, {}, True),
    ],
)
def test_lists_and_types_match_as_in_event_ruler(
    pattern: Event, event: Event, matches: bool
) -> None:
    assert read(pattern).matches(event) is matches


@pytest.mark.parametrize(
    ("pattern", "path", "sentence"),
    [
        ({}, (), "a pattern names fields"),
        ({"body": {}}, ("body",), "a pattern names fields"),
        ({"a": "x"}, ("a",), "a list of values"),
        ({"a": []}, ("a",), "a list of values"),
        ({"body": {"a": 1}}, ("body", "a"), "a list of values"),
        ({"a": [["x"]]}, ("a",), "a value is"),
        ({"a": [{"is": "x"}]}, ("a",), 'no operator "is"'),
        ({"a": [{"cidr": "10.0.0.0/8"}]}, ("a",), 'no operator "cidr"'),
        ({"a": [{"prefix": "x", "suffix": "y"}]}, ("a",), "one operator"),
        ({"a": [{"prefix": 1}]}, ("a",), "a text"),
        ({"a": [{"prefix": ["x"]}]}, ("a",), "a text"),
        ({"a": [{"suffix": {"prefix": "x"}}]}, ("a",), "a text"),
        ({"a": [{"wildcard": "x"}]}, ("a",), "no operator"),
        ({"$or": [{"a": [1]}, {"b": [2]}]}, ("$or",), "a route for each"),
        ({"a": [{"exists": "true"}]}, ("a",), "true or false"),
        ({"a": [{"numeric": 5}]}, ("a",), "a range"),
        ({"a": [{"numeric": [">"]}]}, ("a",), "a range"),
        ({"a": [{"numeric": ["<", 5, ">", 1]}]}, ("a",), "a range"),
        ({"a": [{"numeric": [">", "1"]}]}, ("a",), "a range"),
        ({"a": [{"numeric": [">", 5, "<", 5]}]}, ("a",), "no number"),
        ({"a": [{"anything-but": ["x", 1]}]}, ("a",), "anything-but"),
        ({"a": [{"anything-but": []}]}, ("a",), "anything-but"),
        ({"a": [{"anything-but": True}]}, ("a",), "anything-but"),
    ],
)
def test_fault_is_named_with_its_place(
    pattern: Event, path: tuple[str, ...], sentence: str
) -> None:
    with pytest.raises(PatternError) as fault:
        read(pattern)
    assert fault.value.path == path
    assert sentence in fault.value.sentence
