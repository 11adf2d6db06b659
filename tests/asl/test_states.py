"""Each type of state treats its input, variables and expressions as AWS documents."""

import pytest

from proof.asl.errors import QUERY
from tests.asl.playing import ALL, END, Play, machine, passing, task

# https://docs.aws.amazon.com/step-functions/latest/dg/workflow-variables.html
# https://docs.aws.amazon.com/step-functions/latest/dg/transforming-data.html


def test_all_of_one_assign_is_evaluated_on_the_values_of_state_entry() -> None:
    """workflow-variables.html, "Evaluation order in an assign field": x=3, a=6 swap this way."""
    states = {
        "Begin": passing(Assign={"x": 3, "a": 6}, Next="Swap"),
        "Swap": passing(Assign={"x": "{% $a %}", "nextX": "{% $x %}"}, Next="Tell"),
        "Tell": passing(Output=["{% $x %}", "{% $nextX %}"]),
    }
    assert Play(states).output == [6, 3]


def test_an_output_does_not_see_the_assign_of_its_own_state() -> None:
    """transforming-data.html: "Assign and Output steps occur in parallel"."""
    states = {
        "Begin": passing(Assign={"x": "old"}, Next="Both"),
        "Both": passing(Assign={"x": "new"}, Output="{% $x %}"),
    }
    assert Play(states).output == "old"


def test_the_input_is_that_of_the_state_and_the_output_the_input_of_the_next() -> None:
    """transforming-data.html: "$states.input always refers to the original state input"."""
    states = {
        "Call": task(Output={"was": "{% $states.input.n %}"}, Next="Tell"),
        "Tell": passing(Output="{% $states.input.was + 1 %}"),
    }
    assert Play(states, {"n": 1}, {"Call": [{"n": 50}]}).output == 2


def test_a_pass_without_output_hands_its_input_on() -> None:
    """state-pass.html: without Output, the input becomes the output."""
    assert Play({"Only": END}, {"n": [1, {"m": None}]}).output == {"n": [1, {"m": None}]}


def test_a_task_without_output_hands_its_result_on() -> None:
    """transforming-data.html: Output is optional; the result is the default."""
    assert Play({"Call": task()}, 1, {"Call": [{"n": 7}]}).output == {"n": 7}


def test_a_value_that_only_looks_like_an_expression_stays_text() -> None:
    """transforming-data.html, "not-evaluated": no {% %}, no evaluation."""
    assert Play({"Only": passing(Output={"a": "$x", "b": [True, None, 4]})}).output == {
        "a": "$x",
        "b": [True, None, 4],
    }


def test_the_first_rule_that_is_true_is_taken() -> None:
    """state-choice.html: the rules in their order."""
    rules = [
        {"Condition": "{% $states.input > 10 %}", "Next": "High"},
        {"Condition": "{% $states.input > 5 %}", "Next": "Middle"},
    ]
    states = {
        "Ask": {"Type": "Choice", "Choices": rules, "Default": "Low"},
        **{name: passing(Output=name) for name in ("High", "Middle", "Low")},
    }
    assert [Play(states, n).output for n in (11, 6, 1)] == ["High", "Middle", "Low"]


@pytest.mark.parametrize("value", ["1", "'true'", "null", "[]", "{}", "[true]"])
def test_a_condition_that_is_no_boolean_fails(value: str) -> None:
    """state-choice.html: an expression "that evaluates to true/false"; transforming-data.html,
    "Type incompatibility"."""
    rules = [{"Condition": f"{{% {value} %}}", "Next": "End"}]
    states = {"Ask": {"Type": "Choice", "Choices": rules, "Default": "End"}, "End": END}
    assert Play(states).error == QUERY


def test_a_choice_that_nothing_matches_fails_without_a_default() -> None:
    """state-choice.html: "the state machine will throw an error"; its name is of the language's
    specification, https://states-language.net/#appendix-a."""
    rules = [{"Condition": "{% false %}", "Next": "End"}]
    states = {"Ask": {"Type": "Choice", "Choices": rules}, "End": END}
    assert Play(states).error == "States.NoChoiceMatched"


def test_a_rule_assigns_only_when_it_is_the_one_that_matched() -> None:
    """state-choice.html, "Using Assign with Choice states"."""
    rules = [
        {"Condition": "{% false %}", "Assign": {"x": 1}, "Next": "Tell"},
        {"Condition": "{% true %}", "Assign": {"x": 2}, "Next": "Tell"},
        {"Condition": "{% true %}", "Assign": {"x": 3}, "Next": "Tell"},
    ]
    states = {"Ask": {"Type": "Choice", "Choices": rules}, "Tell": passing(Output="{% $x %}")}
    assert Play(states).output == 2


def test_a_wait_lasts_as_long_as_it_says() -> None:
    """state-wait.html, Seconds."""
    states = {
        "Sleep": {"Type": "Wait", "Seconds": "{% $states.input * 2 %}", "Next": "Call"},
        "Call": task(),
    }
    assert Play(states, 3).called_ms == [6_000]


@pytest.mark.parametrize("seconds", ["1.5", "-1", "'3'", "100000000", "true", "null"])
def test_a_wait_of_anything_but_an_integer_in_range_fails(seconds: str) -> None:
    """state-wait.html: "must evaluate to an integer" from 0 to 99999999."""
    states = {"Sleep": {"Type": "Wait", "Seconds": f"{{% {seconds} %}}", "End": True}}
    assert Play(states).error == QUERY


def test_a_whole_number_that_was_computed_is_an_integer() -> None:
    """JSON does not tell 3 from 3.0, and JSONata has one type of number."""
    states = {"Sleep": {"Type": "Wait", "Seconds": "{% 7.5 / 2.5 %}", "Next": "Call"}}
    assert Play({**states, "Call": task()}).called_ms == [3_000]


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


def test_null_is_a_value() -> None:
    """transforming-data.html names only undefined as what JSON cannot represent."""
    states = {
        "Begin": passing(Assign={"x": "{% null %}"}, Next="Tell"),
        "Tell": passing(Output=["{% $x %}", "{% $exists($x) %}", "{% $x = null %}"]),
    }
    assert Play(states).output == [None, True, True]


@pytest.mark.parametrize(
    "expression", ["1 + 'a'", "$sum('x')", "(", "function($x){$x}", "$boom()", "1 / 0"]
)
def test_an_expression_that_cannot_be_evaluated_fails(expression: str) -> None:
    """transforming-data.html, "Handling expression errors"."""
    assert Play({"Only": passing(Output=f"{{% {expression} %}}")}).error == QUERY


def test_a_task_may_catch_that_its_own_expressions_fail() -> None:
    """transforming-data.html: "Your Task, Map, and Parallel states can provide a Catch"."""
    for field in ("Arguments", "Output", "Assign", "TimeoutSeconds"):
        value = {"a": "{% $nothing %}"} if field != "TimeoutSeconds" else "{% $nothing %}"
        catch = [{"ErrorEquals": [QUERY], "Next": "Caught"}]
        states = {"Call": task(**{field: value}, Catch=catch), "Caught": passing(Output="caught")}
        play = Play(states)
        assert play.output == "caught"
        assert len(play.calls) == (field in ("Output", "Assign")), (
            "called before its answer is read"
        )


def test_no_catch_of_the_same_state_takes_what_fails_in_a_catch() -> None:
    """transforming-data.html, "Handling expression errors"; how a Catch's own expression could be
    caught is said nowhere, so nothing may rest on it."""
    catch = [{"ErrorEquals": ALL, "Output": "{% $nothing %}", "Next": "Caught"}]
    states = {"Call": task(Arguments="{% $nothing %}", Catch=catch), "Caught": END}
    assert Play(states).error == QUERY


def test_the_context_object_tells_execution_and_state() -> None:
    """input-output-contextobject.html, "Context object fields"."""
    names = ("Execution.Id", "Execution.Name", "Execution.StartTime", "State.EnteredTime")
    states = {"Only": passing(Output=[f"{{% $states.context.{name} %}}" for name in names])}
    assert Play(states).output == [
        "arn:aws:states:us-east-1:123456789012:express:small:run:uuid",
        "run",
        "1970-01-01T00:16:40.000Z",
        "1970-01-01T00:16:40.000Z",
    ]
    whole = passing(Output="{% [$states.context.Execution.Input, $states.context.State.Name] %}")
    assert Play({"Only": whole}, {"n": 1}).output == [{"n": 1}, "Only"]


def test_a_loop_without_a_task_ends_as_the_machines_timeout_would_end_it() -> None:
    """state-task.html and statemachine-structure.html, TimeoutSeconds."""
    assert Play({"One": passing(Next="Two"), "Two": passing(Next="One")}).error == "States.Timeout"


def test_the_machine_ends_when_its_time_is_over_whatever_it_does() -> None:
    """statemachine-structure.html, TimeoutSeconds: States.Timeout, which no state can catch."""
    catch = [{"ErrorEquals": ALL, "Next": "Caught"}]
    states = {"Call": task(Catch=catch), "Caught": END}
    slow = machine(states, TimeoutSeconds=10)
    assert Play(slow, takes_ms=9_999).output == {}
    assert Play(slow, takes_ms=10_000).error == "States.Timeout"


def test_an_express_execution_lasts_five_minutes_at_most() -> None:
    """choosing-workflow-type.html."""
    assert Play({"Call": task()}, takes_ms=300_000).error == "States.Timeout"
    assert Play({"Call": task()}, takes_ms=299_999).output == {}
