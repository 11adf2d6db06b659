"""Gives each command its options, its form of answer and the end of a failure.

A command is a function with its own click options, in a module that names it `command`:

    @on_stack("once pause --for 30m", answers=Pause)
    @YES
    def command(operation: Operation, yes: bool) -> None:
        '''Pause requests to the destination.'''
        operation.confirm("Pause requests?", yes, facts=["…"])
        operation.answer(Pause(...), view=["Requests are paused."])

Exit codes: 0 ok, 1 failed (OnceError: an error that a person can repair), 2 usage error
(click.UsageError), 3 done, but something needs attention. With --json an error is JSON, too.
"""

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, NoReturn

import click
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console, RenderableType

from once.errors import OnceError
from once.screen import put, screen, showable
from once.stack.facade import LOCAL, Stack, explain_refusal

if TYPE_CHECKING:
    from pydantic import BaseModel

ATTENTION = 3
INTERRUPTED = 130  # as shells have it
YES = click.option("--yes", is_flag=True, help="Do not ask first.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
_PLACE = (
    click.option("--profile", help="AWS profile to use."),
    click.option("--region", help="AWS region of the stack."),
    click.option(
        "--stack",
        "name",
        metavar="NAME",
        help=f"A deployed stack, or `{LOCAL}`. Default: the local one that is up in this folder, "
        "else the one that samconfig.toml names.",
    ),
)
Decorator = Callable[[Callable[..., None]], "Command"]


class Command(click.Command):
    """A command whose argument may be the key of an event."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        # The key of an event without an organisation begins with -/, and is no option.
        ctx.ignore_unknown_options = any(argument.startswith("-/") for argument in args)
        return super().parse_args(ctx, args)


@dataclass
class Output:
    """Writes the answer of a command: JSON for scripts, or a view for people."""

    as_json: bool = False
    console: Console = field(default_factory=screen)
    errors: Console = field(default_factory=lambda: screen(stderr=True))

    def answer(self, model: "BaseModel", view: Iterable[RenderableType], **facts: str) -> None:
        """Writes facts and model with --json, else the view. A later `say` goes on with it."""
        if self.as_json:
            answer = {**facts, **model.model_dump(mode="json", by_alias=True)}
            click.echo(json.dumps(answer, indent=2))
        else:
            self.say(view)

    def say(self, view: Iterable[RenderableType]) -> None:
        for part in view:
            put(self.console, part)

    def confirm(self, question: str, yes: bool, facts: Iterable[str] = ()) -> None:
        """Shows the facts and asks; ends the command unless the answer is yes."""
        if yes:
            return
        for fact in facts:
            put(self.errors, fact)
        try:
            click.confirm(showable(question), abort=True, err=True)
        except click.Abort:
            if not sys.stdin.isatty():
                click.echo(err=True)  # no typed answer has ended the line of the question
            raise OnceError("Nothing was changed. In a script, agree with --yes.") from None

    def exit(self, code: int) -> NoReturn:
        """Ends the command, e.g. with ATTENTION."""
        raise click.exceptions.Exit(code)

    @contextmanager
    def failing(self) -> Iterator[None]:
        """Writes an error as JSON, if that was asked for."""
        try:
            yield
        except OnceError as error:
            if not self.as_json:
                raise
            click.echo(json.dumps({"error": str(error), "exitCode": 1}, indent=2))
            self.exit(1)


@dataclass
class Operation(Output):
    """Adds the stack that a command works on. View and question name the stack first."""

    name: str | None = None
    region: str | None = None
    profile: str | None = None

    @cached_property
    def stack(self) -> Stack:
        """The stack, found when a command first needs it."""
        return Stack.find(self.name, self.region, self.profile)

    @property
    def options(self) -> str:
        """The options that named the stack, for commands that an answer suggests: ` --stack X`."""
        named = {"--stack": self.name, "--region": self.region, "--profile": self.profile}
        return "".join(f" {name} {shlex.quote(text)}" for name, text in named.items() if text)

    def answer(self, model: "BaseModel", view: Iterable[RenderableType], **facts: str) -> None:
        stack = str(self.stack)
        super().answer(model, [f"[dim]{stack}[/]", *view], stack=stack, **facts)

    def confirm(self, question: str, yes: bool, facts: Iterable[str] = ()) -> None:
        super().confirm(question, yes, [f"[dim]{self.stack}[/]", *facts])

    @contextmanager
    def failing(self) -> Iterator[None]:
        with super().failing():
            try:
                yield
            except (BotoCoreError, ClientError) as error:
                is_local = "stack" in vars(self) and self.stack.is_local
                refusal = explain_refusal(error, is_local)
                if is_local or self.name is not None:
                    raise refusal from error
                # After `once down` the same command would reach for AWS.
                text = f"No local stack is up in this folder, and on AWS: {refusal}"
                raise OnceError(text) from error


def standalone(example: str, answers: "type[BaseModel] | None" = None) -> Decorator:
    """Makes a command of a function that takes an Output; it needs no stack."""
    return _decorate(Output, (), example, answers)


def on_stack(example: str, answers: "type[BaseModel] | None" = None) -> Decorator:
    """Makes a command of a function that takes an Operation, with the options that name a stack."""
    return _decorate(Operation, _PLACE, example, answers)


def _decorate(
    kind: type[Output],
    options: Sequence[Callable[..., Any]],
    example: str,
    answers: "type[BaseModel] | None",
) -> Decorator:
    """Adds options to a command, and --json if it answers with a model."""
    options = (*options, _JSON) if answers else options

    def make(function: Callable[..., None]) -> Command:
        @wraps(function)
        def run(**given: Any) -> None:
            own = ("as_json", "name", "region", "profile")
            output = kind(**{name: given.pop(name) for name in own if name in given})
            with output.failing():
                function(output, **given)

        decorated: Callable[..., None] = run
        for option in options:
            decorated = option(decorated)
        return click.command(cls=Command, epilog=f"Example: {example}")(decorated)

    return make
