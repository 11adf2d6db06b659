"""Each type of state treats its input, variables and expressions as AWS documents.

https://docs.aws.amazon.com/step-functions/latest/dg/workflow-variables.html
https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html
"""

from collections.abc import Mapping
from typing import Any

import pytest

from proof.asl.errors import QUERY, Failure
from tests.asl.playing import ALL, END, Play, machine, passing, task

SET = passing(Assign={"x": "old"}, Next="Call")
TELL = passing(Output="{% $x %}")
FAILED = Failure("Own", "why")


def choice(*rules: Any, **fields: Any) -> dict[str, Any]:
    return {"Type": "Choice", "Choices": list(rules), **fields}


def rule(condition: str, onward: str = "Tell", **fields: Any) -> dict[str, Any]:
    return {"Condition": f"{{% {condition} %}}", "Next": onward, **fields}


def waiting(seconds: str) -> dict[str, Any]:
    return {"Type": "Wait", "Seconds": f"{{% {seconds} %}}", "Next": "Call"}


# States, their input, the answer of Call, and the output. What says so is above each.
OUTPUTS: dict[str, tuple[Mapping[str, Any], Any, Any, Any]] = {
    # workflow-variables.html, "Evaluation order in an assign field": x=3, a=6 swap this way.
    "all of one assign sees the values of state entry": (
        {
            "Begin": passing(Assign={"x": 3, "a": 6}, Next="Swap"),
            "Swap": passing(Assign={"x": "{% $a %}", "nextX": "{% $x %}"}, Next="Tell"),
            "Tell": passing(Output=["{% $x %}", "{% $nextX %}"]),
        },
        None, {}, [6, 3],
    ),
    # transforming-data.html: "Assign and Output steps occur in parallel".
    "an output does not see the assign of its own state": (
        {"Set": SET, "Call": passing(Assign={"x": "new"}, Output="{% $x %}")},
        None, {}, "old",
    ),
    # transforming-data.html: "$states.input always refers to the original state input".
    "the output is the input of the next state": (
        {
            "Call": task(Output={"was": "{% $states.input.n %}"}, Next="Tell"),
            "Tell": passing(Output="{% $states.input.was + 1 %}"),
        },
        {"n": 1}, {"n": 50}, 2,
    ),
    # state-pass.html: without Output, the input becomes the output.
    "a pass hands its input on": ({"Only": END}, {"n": [1, None]}, {}, {"n": [1, None]}),
    # transforming-data.html: Output is optional; the result is the default.
    "a task hands its result on": ({"Call": task()}, 1, {"n": 7}, {"n": 7}),
    # transforming-data.html, "not-evaluated": no {% %}, no evaluation.
    "a value that only looks like an expression stays text": (
        {"Only": passing(Output={"a": "$x", "b": [True, None, 4]})},
        None, {}, {"a": "$x", "b": [True, None, 4]},
    ),
    # state-choice.html: the rules in their order, and "Using Assign with Choice states".
    "the first rule that is true is taken, and assigns": (
        {
            "Ask": choice(
                rule("false", Assign={"x": 1}),
                rule("true", Assign={"x": 2}),
                rule("true", Assign={"x": 3}),
            ),
            "Tell": TELL,
        },
        None, {}, 2,
    ),
    # transforming-data.html names only undefined as what JSON cannot represent.
    "null is a value": (
        {
            "Begin": passing(Assign={"x": "{% null %}"}, Next="Tell"),
            "Tell": passing(Output=["{% $x %}", "{% $exists($x) %}", "{% $x = null %}"]),
        },
        None, {}, [None, True, True],
    ),
    # concepts-error-handling.html, "Error output"; recorded in states_variables/test_error_output.
    "a catch hands the error output on": (
        {"Call": task(Catch=[{"ErrorEquals": ALL, "Next": "End"}]), "End": END},
        None, FAILED, {"Error": "Own", "Cause": "why"},
    ),
    # transforming-data.html: $states.errorOutput in "the Catch field's Assign or Output".
    "assign and output of a catch see the error output": (
        {
            "Call": task(
                Catch=[
                    {
                        "ErrorEquals": ALL,
                        "Assign": {"x": "{% $states.errorOutput.Error %}"},
                        "Output": "{% $states.errorOutput.Cause %}",
                        "Next": "Tell",
                    }
                ]
            ),
            "Tell": passing(Output=["{% $x %}", "{% $states.input %}"]),
        },
        None, FAILED, ["Own", "why"],
    ),
    # transforming-data.html: $states.result is there only "if successful".
    "the assign of a state is not evaluated when it is caught": (
        {
            "Set": SET,
            "Call": task(Assign={"x": 1}, Catch=[{"ErrorEquals": ALL, "Next": "Tell"}], Next="End"),
            "Tell": TELL,
            "End": END,
        },
        None, FAILED, "old",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTPUTS)
def test_states_end_with_the_documented_output(name: str) -> None:
    states, given, answer, output = OUTPUTS[name]
    assert Play(states, given, {"Call": [answer]}).output == output


# transforming-data.html, "Handling expression errors" and "Type incompatibility".
FAILING: dict[str, Mapping[str, Any]] = {
    # state-choice.html: an expression "that evaluates to true/false".
    **{
        f"a condition that is {value}": {"Ask": choice(rule(value, "End")), "End": END}
        for value in ("1", "'true'", "null", "[]", "{}", "[true]")
    },
    # state-wait.html: "must evaluate to an integer" from 0 to 99999999.
    **{
        f"a wait of {seconds}": {"Sleep": waiting(seconds), "Call": END}
        for seconds in ("1.5", "-1", "'3'", "100000000", "true", "null")
    },
    **{
        f"the expression {expression}": {"Only": passing(Output=f"{{% {expression} %}}")}
        for expression in ("1 + 'a'", "$sum('x')", "(", "function($x){$x}", "$boom()", "1 / 0")
    },
    # How a Catch's own expression could be caught is said nowhere, so nothing may rest on it.
    "an expression of a catch": {
        "Call": task(
            Arguments="{% $nothing %}",
            Catch=[{"ErrorEquals": ALL, "Output": "{% $nothing %}", "Next": "End"}],
        ),
        "End": END,
    },
}


@pytest.mark.parametrize("name", FAILING)
def test_invalid_values_of_expressions_fail(name: str) -> None:
    assert Play(FAILING[name]).error == QUERY


def test_a_choice_that_nothing_matches_fails_without_a_default() -> None:
    """state-choice.html: "the state machine will throw an error"; its name is of the language's
    specification, https://states-language.net/#appendix-a."""
    assert Play({"Ask": choice(rule("false", "End")), "End": END}).error == "States.NoChoiceMatched"


@pytest.mark.parametrize(
    ("seconds", "called_ms"), [("$states.input * 2", 6_000), ("7.5 / 2.5", 3_000)]
)
def test_a_wait_lasts_as_long_as_it_says(seconds: str, called_ms: int) -> None:
    """state-wait.html, Seconds. JSON does not tell 3 from 3.0."""
    assert Play({"Sleep": waiting(seconds), "Call": task()}, 3).called_ms == [called_ms]


@pytest.mark.parametrize("field", ["Output", "Assign", "Arguments"])
def test_an_expression_without_a_value_fails_with_the_recorded_words(field: str) -> None:
    """transforming-data.html, "Failure to return a result"; recorded in
    assign/test_assign_reference_variables (test_undefined_reference)."""
    state = task() if field == "Arguments" else passing()
    play = Play({"State0": {**state, field: {"result": "{% $doesNotExist %}"}}})
    assert play.error == QUERY
    assert play.ended.failure is not None
    assert play.ended.failure.cause == (
        "The JSONata expression '$doesNotExist' specified for the field "
        f"'{field}/result' returned nothing (undefined)."
    )


@pytest.mark.parametrize("field", ["Arguments", "Output", "Assign", "TimeoutSeconds"])
def test_a_task_may_catch_that_its_own_expressions_fail(field: str) -> None:
    """transforming-data.html: "Your Task, Map, and Parallel states can provide a Catch"."""
    value = {"a": "{% $nothing %}"} if field != "TimeoutSeconds" else "{% $nothing %}"
    catch = [{"ErrorEquals": [QUERY], "Next": "Caught"}]
    states = {"Call": task(**{field: value}, Catch=catch), "Caught": passing(Output="caught")}
    play = Play(states)
    assert play.output == "caught"
    assert len(play.calls) == (field in ("Output", "Assign")), "called before its answer is read"


def test_the_context_object_tells_execution_and_state() -> None:
    """input-output-contextobject.html, "Context object fields"."""
    names = ("Execution.Id", "Execution.Name", "Execution.StartTime", "Execution.Input",
             "State.EnteredTime", "State.Name")  # fmt: skip
    states = {"Only": passing(Output=[f"{{% $states.context.{name} %}}" for name in names])}
    assert Play(states, {"n": 1}).output == [
        "arn:aws:states:us-east-1:123456789012:express:small:run:uuid",
        "run",
        "1970-01-01T00:16:40.000Z",
        {"n": 1},
        "1970-01-01T00:16:40.000Z",
        "Only",
    ]


def test_a_loop_without_a_task_ends_as_the_machines_timeout_would_end_it() -> None:
    """state-task.html and statemachine-structure.html, TimeoutSeconds."""
    assert Play({"One": passing(Next="Two"), "Two": passing(Next="One")}).error == "States.Timeout"


@pytest.mark.parametrize(("timeout_s", "most_ms"), [(10, 10_000), (600, 300_000)])
def test_the_machine_ends_when_its_time_is_over_whatever_it_does(
    timeout_s: int, most_ms: int
) -> None:
    """statemachine-structure.html, TimeoutSeconds: States.Timeout, which no state can catch.
    choosing-workflow-type.html: an Express execution lasts five minutes at most."""
    states = {"Call": task(Catch=[{"ErrorEquals": ALL, "Next": "Caught"}]), "Caught": END}
    slow = machine(states, TimeoutSeconds=timeout_s)
    assert Play(slow, takes_ms=most_ms - 1).output == {}
    assert Play(slow, takes_ms=most_ms).error == "States.Timeout"
