"""Both engines of JSONata: what Step Functions adds to it, and what their answers are made of."""

import pytest

from proof.asl.jsonata import (
    UNDEFINED,
    Clock,
    Engine,
    Library,
    QueryError,
    Reference,
)

# https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
# https://docs.jsonata.org/2.0.0/overview
NOW = Clock(1_700_000_000_123)
TEXT = 'line\nline\u2028 "quoted" \\ größe 🂡 \u0000'


VALUES = {
    # transforming-data.html, "JSONata functions provided by Step Functions"
    "$parse('{\"a\":[1,null]}')": {"a": [1, None]},
    # https://docs.jsonata.org/date-time-functions
    "$millis()": NOW.ms,
    "$now()": "2023-11-14T22:13:20.123Z",
    # https://docs.jsonata.org/processing: singletons are flattened, unless [] keeps them
    "[1,2,3][$ > 2]": 3,
    "[[1,2,3][$ > 2]]": [3],
    "[1,2,3][$ > 2][]": [3],
    "[1,2,3][$ > 3]": UNDEFINED,
    "[[1,2,3][$ > 3]]": [],
    "{'a': [1,2,3][$ > 3], 'b': 1}": {"b": 1},
    "[$map([1], function($n) { [$n] })]": [1],
    "null": None,
    "7.5 / 2.5": 3,
    "$x.a": [1, [2]],
    "$x.none": UNDEFINED,
    "$x.a[0]": 1,
    "$x.a[5]": UNDEFINED,
    "$string($x.a)": "[1,[2]]",
    "$string($empty)": "null",
    "$number('012') + 1": 13,
    "$empty": None,
    "$exists($empty)": True,
    "$text & ''": TEXT,
}
FAILING = (
    "1 +",
    "1 + 'a'",
    "$nothing()",
    "$parse('{')",
    "$parse(['1'])",
    "function($x) { $x }",
    "{'a': $sum}",
    "1 / 0",
    "( $f := function($n) { 1 + $f($n) }; $f(1) )",
)


@pytest.fixture(params=["library", "reference"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "library":
        return Library()
    reference: Reference = request.getfixturevalue("reference")
    return reference


def fails(engine: Engine, expression: str) -> bool:
    try:
        engine.evaluate(expression, {}, NOW)
    except QueryError:
        return True
    return False


def test_expressions_have_their_documented_values(engine: Engine) -> None:
    bindings = {"x": {"a": [1, [2]]}, "empty": None, "text": TEXT}
    assert {each: engine.evaluate(each, bindings, NOW) for each in VALUES} == VALUES


def test_expressions_that_fail_say_so_and_end_no_engine(engine: Engine) -> None:
    """transforming-data.html, "Handling expression errors"."""
    assert [each for each in FAILING if not fails(engine, each)] == []
    assert engine.evaluate("1 + 1", {}, NOW) == 2


def test_the_reference_stops_after_a_second(reference: Reference) -> None:
    """transforming-data.html, "Expression timeout"."""
    with pytest.raises(QueryError, match="Expression evaluation timeout"):
        reference.evaluate("( $f := function($n) { $f($n + 1) }; $f(1) )", {}, NOW)
