"""Gives each command its options, its form of answer and the end of a failure.

A command is a function with its own click options, in a module that names it `command`:

    @on_stack("once pause --for 30m", answers=Pause)
    @click.option("--for", "duration", metavar="TIME", help="How long.")
    @YES
    def command(operation: Operation, duration: str | None, yes: bool) -> None:
        '''Pause requests to the destination.'''
        operation.confirm("Pause requests?", yes, facts=["…"])
        operation.answer(Pause(...), view=["Requests are paused."])
        operation.exit(ATTENTION)

`on_stack` adds --stack, --region, --profile and, if the command answers with a pydantic model,
--json. `standalone` makes a command of a function that takes an `Output`: it needs no stack. With
--json an error, too, is JSON: `{"error": …, "exitCode": …}`. Raise OnceError for each error that a
person can repair, click.UsageError for what was typed wrongly.

Exit codes: 0 ok, 1 failed (OnceError), 2 usage error, 3 done, but something needs attention.
"""

import json
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec

import click
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console, RenderableType

from once.errors import OnceError
from once.refusals import explain_refusal
from once.screen import put, screen, showable
from once.stack.facade import LOCAL, Stack

if TYPE_CHECKING:
    from pydantic import BaseModel

ATTENTION = 3
INTERRUPTED = 130  # as shells have it

YES = click.option("--yes", is_flag=True, help="Do not ask first.")
P = ParamSpec("P")


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

    def answer(self, model: "BaseModel", view: Iterable[RenderableType]) -> None:
        """Writes the model with --json, else the view. A later `say` goes on with the view."""
        if self.as_json:
            click.echo(json.dumps(model.model_dump(mode="json", by_alias=True), indent=2))
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
    def is_local(self) -> bool:
        return self.name == LOCAL or ("stack" in vars(self) and self.stack.is_local)

    @property
    def options(self) -> str:
        """The options that named the stack, for commands that an answer suggests: ` --stack X`."""
        named = {"--stack": self.name, "--region": self.region, "--profile": self.profile}
        return "".join(f" {name} {shlex.quote(text)}" for name, text in named.items() if text)

    def answer(self, model: "BaseModel", view: Iterable[RenderableType]) -> None:
        if self.as_json:
            facts = {"stack": str(self.stack), **model.model_dump(mode="json", by_alias=True)}
            click.echo(json.dumps(facts, indent=2))
        else:
            self.say([f"[dim]{self.stack}[/]", *view])

    def confirm(self, question: str, yes: bool, facts: Iterable[str] = ()) -> None:
        super().confirm(question, yes, [f"[dim]{self.stack}[/]", *facts])


def standalone(
    example: str, answers: "type[BaseModel] | None" = None
) -> Callable[[Callable[Concatenate[Output, P], None]], Command]:
    """Makes a command of a function that takes an Output; it needs no stack."""

    def make(function: Callable[Concatenate[Output, P], None]) -> Command:
        @wraps(function)
        def run(*, as_json: bool = False, **given: Any) -> None:
            try:
                function(Output(as_json), **given)  # type: ignore[call-arg]
            except OnceError as error:
                _fail(error, as_json)

        return _declare(run, example, answers)

    return make


def on_stack(
    example: str, answers: "type[BaseModel] | None" = None
) -> Callable[[Callable[Concatenate[Operation, P], None]], Command]:
    """Makes a command of a function that takes an Operation, with the options that name a stack."""

    def make(function: Callable[Concatenate[Operation, P], None]) -> Command:
        @click.option("--profile", help="AWS profile to use.")
        @click.option("--region", help="AWS region of the stack.")
        @click.option(
            "--stack",
            metavar="NAME",
            help=f"A deployed stack, or `{LOCAL}`. Default: the local one that is up in this "
            "folder, else the one that samconfig.toml names.",
        )
        @wraps(function)
        def run(
            *,
            stack: str | None,
            region: str | None,
            profile: str | None,
            as_json: bool = False,
            **given: Any,
        ) -> None:
            operation = Operation(as_json, name=stack, region=region, profile=profile)
            try:
                function(operation, **given)  # type: ignore[call-arg]
            except OnceError as error:
                _fail(error, as_json)
            except (BotoCoreError, ClientError) as error:
                refusal = explain_refusal(error, operation.is_local)
                if not operation.is_local and stack is None:
                    # After `once down` the same command would reach for AWS.
                    refusal = OnceError(
                        f"No local stack is up in this folder, and on AWS: {refusal}"
                    )
                _fail(refusal, as_json)

        return _declare(run, example, answers)

    return make


def _declare(run: Callable[..., None], example: str, answers: "type[BaseModel] | None") -> Command:
    if answers:
        run = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")(run)
    return click.command(cls=Command, epilog=f"Example: {example}")(run)


def _fail(error: OnceError, as_json: bool) -> NoReturn:
    if not as_json:
        raise error
    click.echo(json.dumps({"error": str(error), "exitCode": error.exit_code}, indent=2))
    raise click.exceptions.Exit(error.exit_code) from error
