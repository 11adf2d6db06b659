"""Scopes of variables, and iterations side by side."""

import json
from itertools import permutations

import pytest

from proof.asl.definition import DefinitionError
from proof.asl.errors import QUERY, Failure
from proof.asl.position import Ended, Execution, Position, decoded, encoded
from tests.asl.playing import ALL, END, Play, machine, mapping, passing, task

# https://docs.aws.amazon.com/step-functions/latest/dg/state-map-inline.html
# https://docs.aws.amazon.com/step-functions/latest/dg/workflow-variables.html


def test_an_iteration_sees_the_variables_around_it() -> None:
    """workflow-variables.html, "Variable scope": "can access variable values from outer scopes"."""
    inner = {"In": passing(Output="{% $states.input + $x %}")}
    states = {"Begin": passing(Assign={"x": 10}, Next="Each"), "Each": mapping(inner)}
    assert Play(states, [1, 2]).output == [11, 12]


def test_variables_of_an_iteration_stay_in_it() -> None:
    """workflow-variables.html: each has its own; when the Map completes they go out of scope."""
    inner = {
        "Set": passing(Assign={"mine": "{% $states.input %}"}, Next="In"),
        "In": task(Output="{% $mine %}"),
    }
    states = {"Each": mapping(inner, Next="Tell"), "Tell": passing(Output="{% $exists($mine) %}")}
    assert Play({"Each": mapping(inner)}, [1, 2, 3]).output == [1, 2, 3]
    assert Play(states, [1]).output is False


def test_no_name_is_assigned_outside_and_inside() -> None:
    """workflow-variables.html: "cannot have the same name as one assigned in an outer scope"."""
    inner = {"In": passing(Assign={"x": 1})}
    states = {"Begin": passing(Assign={"x": 1}, Next="Each"), "Each": mapping(inner)}
    with pytest.raises(DefinitionError, match=r"\$x is assigned outside and inside of Each"):
        machine(states)


def test_two_maps_side_by_side_may_use_one_name() -> None:
    """workflow-variables.html speaks of an outer and an inner scope only."""
    inner = {"In": passing(Assign={"x": 1})}
    states = {"One": mapping(inner, Next="Two"), "Two": mapping(inner)}
    assert Play(states, [1]).output == [1]


def test_the_catch_of_a_map_assigns_to_the_scope_around_it() -> None:
    """workflow-variables.html: "the scope in which the Parallel/Map state exists"."""
    catch = [{"ErrorEquals": ALL, "Assign": {"what": "caught"}, "Next": "Tell"}]
    states = {
        "Each": mapping({"In": task()}, Catch=catch, Next="Tell"),
        "Tell": passing(Output="{% $what %}"),
    }
    assert Play(states, [1], {"In": [Failure("Own")]}).output == "caught"


def test_results_stand_in_the_order_of_the_items() -> None:
    """state-map-inline.html: "a JSON array, where each item is the output of an iteration"."""
    inner = {
        "Ask": {
            "Type": "Choice",
            "Choices": [{"Condition": "{% $states.input = 1 %}", "Next": "Slow"}],
            "Default": "Fast",
        },
        "Slow": {"Type": "Wait", "Seconds": 9, "Next": "Fast"},
        "Fast": task(Output="{% $states.input %}"),
    }
    assert Play({"Each": mapping(inner)}, [1, 2, 3]).output == [1, 2, 3]


@pytest.mark.parametrize(("most", "at_once"), [(0, 40), (1, 1), (3, 3), ("{% 1 + 1 %}", 2)])
def test_no_more_iterations_run_than_max_concurrency(most: int | str, at_once: int) -> None:
    """state-map-inline.html, MaxConcurrency: 0 is no limit, but for the 40 of inline mode."""
    play = Play({"Each": mapping({"In": task()}, MaxConcurrency=most)}, list(range(50)))
    assert (play.most_at_once, len(play.calls)) == (at_once, 50)


def test_iterations_one_by_one_do_not_overlap() -> None:
    """state-map-inline.html, MaxConcurrency 1; for the explorer whatever the definition says."""
    inner = {"One": task(Arguments="{% $states.input %}", Output=0, Next="Two"), "Two": task()}
    play = Play(machine({"Each": mapping(inner, MaxConcurrency=5)}, one_by_one=True), [1, 2])
    assert [call.state for call in play.calls] == ["One", "Two", "One", "Two"]


@pytest.mark.parametrize("items", ["1", "'text'", "true", "null", "{'a': 1}"])
def test_items_that_are_no_array_fail(items: str) -> None:
    """Recorded in scenarios/test_base_scenarios (test_map_state_items_eval_jsonata_fail)."""
    assert Play({"Each": mapping({"In": END}, Items=f"{{% {items} %}}")}).error == QUERY
    assert Play({"Each": mapping({"In": END})}, "no array").error == QUERY


def test_no_items_make_an_empty_result() -> None:
    """state-map-inline.html; a filter that finds nothing needs brackets to be an array."""
    assert Play({"Each": mapping({"In": task()})}, []).output == []
    states = {"Each": mapping({"In": task()}, Items="{% $states.input[n = 9] %}")}
    assert Play(states, [{"n": 1}]).error == QUERY


def test_a_failed_iteration_fails_the_map_and_stops_the_others() -> None:
    """state-map-inline.html, ItemProcessor: "the failure of any iteration causes the Map state to
    fail. All iterations stop"."""
    inner = {"One": task(Next="Two"), "Two": task()}
    catch = [{"ErrorEquals": ["Own"], "Next": "Caught"}]
    states = {"Each": mapping(inner, Catch=catch), "Caught": passing(Output="caught")}
    play = Play(states, [1, 2, 3], {"One": [{}, Failure("Own")]})
    assert play.output == "caught"
    # The first had come to Two, the third never came to One.
    assert [call.state for call in play.calls] == ["One", "Two", "One"]
    assert Play({"Each": mapping(inner)}, [1], {"One": [Failure("Own")]}).error == "Own"


def test_an_expression_that_fails_in_an_iteration_fails_the_map() -> None:
    """transforming-data.html, "Handling expression errors": a Pass cannot catch it, a Map can."""
    catch = [{"ErrorEquals": [QUERY], "Next": "Caught"}]
    inner = {"In": passing(Output="{% $nothing %}")}
    states = {"Each": mapping(inner, Catch=catch), "Caught": passing(Output="caught")}
    assert Play(states, [1]).output == "caught"


def test_the_retry_of_a_map_runs_every_iteration_again() -> None:
    """state-map-inline.html, Retry: "applies to all Map state iterations"."""
    retry = [{"ErrorEquals": ALL, "MaxAttempts": 1}]
    states = {"Each": mapping({"In": task()}, Retry=retry, MaxConcurrency=1)}
    play = Play(states, [1, 2], {"In": [{}, Failure("Own"), {}, {"n": 2}]})
    assert play.output == [{}, {"n": 2}]
    assert len(play.calls) == 4


def test_an_expression_of_a_map_may_fail_after_its_iterations() -> None:
    """transforming-data.html: a Map's Assign and Output are its own."""
    catch = [{"ErrorEquals": ALL, "Next": "Caught"}]
    states = {
        "Each": mapping({"In": END}, Assign={"x": "{% $nothing %}"}, Catch=catch),
        "Caught": passing(Output="caught"),
    }
    assert Play(states, [1]).output == "caught"


def test_maps_may_stand_in_maps() -> None:
    """state-map-inline.html."""
    inner = {"In": task(Output="{% $states.input * $factor %}")}
    outer = {
        "Set": passing(Assign={"factor": "{% $count($states.input) %}"}, Next="Each"),
        "Each": mapping(inner),
    }
    play = Play({"All": mapping(outer)}, [[1, 2], [3]])
    assert play.output == [[2, 4], [3]]
    assert play.most_at_once == 3


def test_iterations_end_alike_in_every_order() -> None:
    """state-map-inline.html promises no order; who steps is the caller's choice."""
    states = {
        "Each": mapping(
            {
                "One": task(Output="{% $states.input %}", Next="Two"),
                "Two": task(Output="{% $states.input %}"),
            }
        )
    }
    small = machine(states)
    ends = set()
    for order in permutations([0, 0, 1, 1, 2, 2]):
        at: Position | Ended = small.start(Execution("run", [7, 8, 9]), 0)
        for index in order:
            assert isinstance(at, Position)
            at = small.answer(at, {}, 0, (index,))
        assert isinstance(at, Ended)
        ends.add(json.dumps(at.output))
    assert ends == {"[7, 8, 9]"}


def test_a_position_survives_json() -> None:
    """So that somebody can keep positions as text, compare them and go on from one."""
    inner = {"Set": passing(Assign={"mine": "{% $states.input %}"}, Next="In"), "In": task()}
    retry = [{"ErrorEquals": ALL, "IntervalSeconds": 5}]
    states = {"Each": mapping({**inner, "In": task(Retry=retry)}, MaxConcurrency=2)}
    small = machine(states)
    at = small.start(Execution("run", [1, {"n": None}, 3]), 0)
    assert isinstance(at, Position)
    at = small.answer(at, {"n": 1}, 10, (1,))
    assert isinstance(at, Position)
    at = small.fail(at, Failure("Own"), 20, (0,))
    assert isinstance(at, Position)
    again = decoded(json.loads(json.dumps(encoded(at))))
    assert again == at
    assert small.resume(again, 5_020, (0,)) == small.resume(at, 5_020, (0,))


def test_a_position_never_changes() -> None:
    small = machine({"Each": mapping({"In": task()})})
    at = small.start(Execution("run", [1, 2]), 0)
    assert isinstance(at, Position)
    before = json.dumps(encoded(at))
    small.answer(at, {}, 0, (0,))
    small.fail(at, Failure("Own"), 0, (1,))
    assert json.dumps(encoded(at)) == before
