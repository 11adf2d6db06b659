"""Does Step Functions take the definition, and does each state do there what it does with us?"""

import copy
import json
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from proof.prove.files import asked, definition
from proof.prove.question import Question, UnansweredError
from proof.prove.site import Site

Json = Any
# What may be a time, in seconds or milliseconds; it is one if it lies around the time of the case.
_TIME = re.compile(r"\b(\d{10})(\d{3})?\b")
_AROUND_S = 60 * 86_400
# TestState answers 10 requests a second (service-quotas.html).
_BETWEEN_SECONDS = 0.11


def questions() -> Iterator[Question]:
    yield Question(
        name="definition",
        guards="Step Functions takes the state machine",
        ask=_validate,
        expected={"result": "OK"},
    )
    for case in asked()["states"]:
        yield Question(
            name=f"state {case['name']}",
            guards=f"{case['state']} does on AWS what it does in our scenarios",
            ask=partial(_test_state, case),
            expected=_unshifted_expectation(case),
        )


def _validate(site: Site, broken: bool) -> Json:
    machine = copy.deepcopy(definition())
    if broken:
        machine["States"]["ReadPace"]["Next"] = "NoSuchState"
    answer = site.client("stepfunctions").validate_state_machine_definition(
        definition=json.dumps(machine), type="EXPRESS"
    )
    found = [f"{one['code']} {one.get('location', '')}" for one in answer["diagnostics"]]
    return {"result": answer["result"]} | ({"diagnostics": found} if found else {})


def _unshifted_expectation(case: Json) -> Json:
    expected = case["expected"]
    return {name: value for name, value in expected.items() if name != "atMostSeconds"}


def _test_state(case: Json, site: Site, broken: bool) -> Json:
    """The answer in the words of the case, its times moved back to when the case was written."""
    then_s, now_s = case["clockMs"] // 1_000, int(time.time())

    def today(value: Json) -> str:
        return _moved(value, then_s, now_s - then_s)

    request: dict[str, Any] = {
        "definition": json.dumps(broken_at(case["state"]) if broken else definition()),
        "stateName": case["state"],
        "inspectionLevel": "DEBUG",
        "input": today(case["input"]),
        "variables": today(case["variables"]),
    }
    if "error" in case:
        request["mock"] = {"errorOutput": case["error"]}
        request["stateConfiguration"] = {"retrierRetryCount": case["used"]}
        if "causedBy" in case:
            request["stateConfiguration"] = {"errorCausedByState": case["causedBy"]}
    elif "result" in case:
        request["mock"] = {"result": today(case["result"])}
    else:
        request["roleArn"] = site.role()
    if "execution" in case:
        execution = {"Id": case["execution"], "Name": "prove"}
        state = {"Name": case["state"], "RetryCount": 0}
        request["context"] = json.dumps({"Execution": execution, "State": state})
    site.wait(_BETWEEN_SECONDS)
    answer = site.client("stepfunctions").test_state(**request)
    return _in_our_words(case, answer, lambda text: _moved(text, now_s, then_s - now_s))


def _in_our_words(case: Json, answer: Json, then: Callable[[str], str]) -> Json:
    seen = answer.get("inspectionData", {})
    details = seen.get("errorDetails", {})
    said: dict[str, Json] = {"status": answer["status"]}
    expected = case["expected"]
    if answer.get("nextState"):
        said["next"] = answer["nextState"]
    if "output" in answer and "output" in expected:
        said["output"] = json.loads(then(answer["output"]))
    if "variables" in seen:
        said["assigned"] = json.loads(then(seen["variables"]))
    elif expected.get("assigned") and answer["status"] == expected["status"]:
        raise UnansweredError("TestState does not say here which variables are assigned")
    elif "assigned" in expected:
        said["assigned"] = {}
    said |= {
        ours: details[theirs]
        for ours, theirs in (("catch", "catchIndex"), ("retry", "retryIndex"))
        if theirs in details
    }
    if answer["status"] == "FAILED":
        said |= {"error": answer.get("error"), "because": answer.get("cause", "")}
    longest = expected.get("atMostSeconds")
    waited = details.get("retryBackoffIntervalSeconds", 0)
    if longest is not None and waited > longest:
        said["waits"] = f"{waited} s, expected at most {longest}"
    return said


def broken_at(name: str) -> Json:
    """The definition with one state that retries nothing and assigns and answers nonsense."""
    machine = copy.deepcopy(definition())
    state = _find(machine["States"], name)
    for part in (state, *state.get("Choices", ()), *state.get("Catch", ())):
        part["Assign"] = {**dict.fromkeys(part.get("Assign", ()), "broken"), "broken": True}
        part["Output"] = "broken"
    for retrier in state.get("Retry", ()):
        retrier["MaxAttempts"] = 0
    return machine


def _find(states: Json, name: str) -> Json:
    if name in states:
        return states[name]
    for state in states.values():
        if "ItemProcessor" in state and (found := _find(state["ItemProcessor"]["States"], name)):
            return found
    return None


def _moved(value: Json, centre_s: int, by_s: int) -> str:
    """Returns JSON with every time around the centre moved, in milliseconds and in seconds."""

    def moved(found: re.Match[str]) -> str:
        seconds = int(found[1])
        if abs(seconds - centre_s) > _AROUND_S:
            return found[0]
        return f"{seconds + by_s}{found[2] or ''}"

    return _TIME.sub(moved, value if isinstance(value, str) else json.dumps(value))
