"""Gives all commands their stack, the form of their answer and the end of a failure."""

import inspect
import json
import shlex
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar

import typer
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console, RenderableType
from typer.core import TyperCommand

from once.errors import OnceError
from once.operate.model import Answer
from once.operate.refusals import plain
from once.operate.stack import LOCAL, Stack
from once.screen import put, screen, showable

ATTENTION = 3  # done, but something needs attention
INTERRUPTED = 130  # as shells have it

_SHARED = {
    "stack": Annotated[
        str | None,
        typer.Option(
            "--stack",
            metavar="NAME",
            help=f"A deployed stack, or `{LOCAL}`. Default: the local one that is up in this "
            "folder, else the one that samconfig.toml names.",
        ),
    ],
    "region": Annotated[str | None, typer.Option("--region", help="AWS region of the stack.")],
    "profile": Annotated[str | None, typer.Option("--profile", help="AWS profile to use.")],
    "as_json": Annotated[bool, typer.Option("--json", help="Answer in JSON, for scripts.")],
}

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask first.")]
P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., None])


class _Command(TyperCommand):
    """Takes the key of an event without an organisation, which begins with -/, for no option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.ignore_unknown_options = any(argument.startswith("-/") for argument in args)
        return super().parse_args(ctx, args)


@dataclass
class Operation:
    """One run of a command: on which stack, and how it answers."""

    stack: Stack
    as_json: bool
    options: str = ""
    """The options that named the stack, for commands that the answer suggests."""
    console: Console = field(default_factory=screen)
    errors: Console = field(default_factory=lambda: screen(stderr=True))

    def answer(self, answer: Answer, view: Iterable[RenderableType]) -> None:
        """Writes JSON whole, or the view for people. Both name the stack."""
        answer.stack = str(self.stack)
        if self.as_json:
            typer.echo(json.dumps(answer.model_dump(mode="json", by_alias=True), indent=2))
            return
        put(self.console, f"[dim]{answer.stack}[/]")
        self.say(view)

    def say(self, view: Iterable[RenderableType]) -> None:
        """Writes for people; after `answer` it goes on with it."""
        for part in view:
            put(self.console, part)

    def confirm(self, question: str, yes: bool, facts: Iterable[str] = ()) -> None:
        """Shows the facts and asks; ends the command unless the answer is yes."""
        if yes:
            return
        put(self.errors, f"[dim]{self.stack}[/]")
        for fact in facts:
            put(self.errors, fact)
        try:
            typer.confirm(showable(question), abort=True, err=True)
        except typer.Abort:
            if not sys.stdin.isatty():
                typer.echo(err=True)  # no typed answer has ended the line of the question
            raise OnceError("Nothing was changed. In a script, agree with --yes.") from None


def command(example: str) -> Callable[[F], F]:
    """Marks a function of an Operation with what adds it to an app: `add(app, name)`."""

    def mark(function: F) -> F:
        vars(function)["add"] = lambda app, name: add(app, name, function, example)
        return function

    return mark


def add(
    app: typer.Typer,
    name: str,
    function: Callable[Concatenate[Operation, P], None],
    example: str,
    without: Collection[str] = (),
) -> None:
    """Adds a function of an Operation, with the options that all commands share; one that names
    what it answers has `--json`. The parameters `without` are no options."""

    def run(stack: str | None, region: str | None, profile: str | None, **given: Any) -> None:
        as_json = given.pop("as_json", False)
        named = {"--stack": stack, "--region": region, "--profile": profile}
        options = "".join(f" {name} {shlex.quote(value)}" for name, value in named.items() if value)
        is_local = stack == LOCAL
        try:
            found = Stack.find(stack, region, profile)
            is_local = found.is_local
            # Its parameters are those that typer reads from the signature.
            function(Operation(found, as_json, options), **given)  # type: ignore[call-arg]
        except (OnceError, BotoCoreError, ClientError) as error:
            said = error if isinstance(error, OnceError) else plain(error, is_local)
            if said is not error and not is_local and stack is None:
                # After `once down` the same command would reach for AWS.
                said = OnceError(f"No local stack is up in this folder, and on AWS: {said}")
            if not as_json:
                raise said from error
            typer.echo(json.dumps({"error": str(said), "exitCode": said.exit_code}, indent=2))
            raise typer.Exit(said.exit_code) from None

    _, *own = inspect.signature(function).parameters.values()
    shared = [
        inspect.Parameter(
            option,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if option == "as_json" else None,
            annotation=annotation,
        )
        for option, annotation in _SHARED.items()
        if option != "as_json" or "answers" in vars(function)
    ]
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in own
        if parameter.name not in without
    ]
    run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
    run.__doc__ = function.__doc__
    vars(run).update(vars(function))
    app.command(name, cls=_Command, epilog=f"Example: {example}")(run)
