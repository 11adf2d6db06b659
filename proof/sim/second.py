"""Replays every execution of a walk on a second interpreter, ministack's, in this process: with
the same answers and the same clock it asks the same of every task, and ends at the same task."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from unittest.mock import patch

from ministack.services import stepfunctions as theirs

from proof.asl.errors import Failure
from proof.sim.world import Tape


class DiedError(BaseException):
    """The tape is over: this execution was killed here."""


def replayed(definition: Mapping[str, Any], name: str, tape: Tape) -> int:
    """Returns how many calls were alike; raises AssertionError at the first that differs."""
    clock_ms, place = tape.began_ms, 0
    register = theirs._register_sfn_jsonata_functions
    fill = theirs._apply_jsonata_arguments

    def registered(expression: Any) -> None:
        register(expression)
        expression.register_lambda("millis", lambda: clock_ms)

    def filled(*values: Any) -> Any:
        nonlocal clock_ms
        if place == len(tape.answers):
            raise DiedError
        clock_ms = tape.answers[place].asked_ms
        return fill(*values)

    def invoked(resource: str, request: Any, _timeout: Any) -> Any:
        nonlocal place, clock_ms
        answered = tape.answers[place]
        clock_ms, call = answered.answered_ms, answered.call
        place += 1
        assert call is not None
        assert (resource, request) == (call.resource, call.arguments), (
            f"{name}: {call.state} asks {request} here, and {call.arguments} there"
        )
        if isinstance(answered.answer, Failure):
            raise theirs._ExecutionError(answered.answer.error, answered.answer.cause)
        return answered.answer

    context = {
        "QueryLanguage": "JSONata",
        "Execution": {
            "Id": f"arn:aws:states:us-east-1:123456789012:express:once:{name}:{name}",
            "Input": tape.given,
            "Name": name,
        },
        "StateMachine": {"Name": "once"},
        "variables": {},
    }
    patched = patch.multiple(
        theirs,
        _register_sfn_jsonata_functions=registered,
        _apply_jsonata_arguments=filled,
        _invoke_resource_with_timeout=invoked,
        _scaled_sleep=lambda _: None,
        _add_event=lambda *_: None,
    )
    # It dies at the end of the tape, or fails as ours did.
    with patched, suppress(DiedError, theirs._ExecutionError):
        theirs._run_sub_machine(
            definition["States"], definition["StartAt"], tape.given, {}, context
        )
    assert place == len(tape.answers), f"{name} ends after {place} of {len(tape.answers)} calls"
    return place
