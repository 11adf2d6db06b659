"""`once pause` and `once resume`: stop taking events from the queue, and take them again."""

import time

import typer

from once.errors import OnceError
from once.operate.command import Operation, Yes, command
from once.operate.model import Model

_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 180


class Pipe(Model):
    pipe: str


def register(app: typer.Typer) -> None:
    command(app, "pause", "once pause --yes")(pause)
    command(app, "resume", "once resume")(resume)


def pause(at: Operation, yes: Yes = False) -> None:
    """Stop the pipe: events wait on the queue, for four days at most."""
    at.confirm("Stop the pipe? No event acts until: once resume", yes)
    _bring(at, "STOPPED", "stop_pipe")


def resume(at: Operation) -> None:
    """Start the pipe again."""
    _bring(at, "RUNNING", "start_pipe")


def _bring(at: Operation, wanted: str, how: str) -> None:
    pipes, name = at.stack.client("pipes"), at.stack.outputs["PipeName"]
    described = pipes.describe_pipe(Name=name)
    if described["CurrentState"] != wanted:
        getattr(pipes, how)(Name=name)
    until = time.monotonic() + _PATIENCE_SECONDS
    while (state := described["CurrentState"]) != wanted:
        if state.endswith("_FAILED") or time.monotonic() > until:
            raise OnceError(f"The pipe is {state}: {described.get('StateReason') or 'no reason'}")
        time.sleep(_POLL_SECONDS)
        described = pipes.describe_pipe(Name=name)
    at.answer(Pipe(pipe=state), [f"The pipe is {state}."])
