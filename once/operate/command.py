"""What all commands share: whose stack is meant, how an answer is shown, how a failure ends."""

import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Annotated, Any, Concatenate, ParamSpec

import typer
from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console, RenderableType
from typer.core import TyperCommand

from once.errors import OnceError
from once.operate.model import Answer
from once.operate.refusals import plain
from once.operate.stack import EMBEDDED, Stack
from once.screen import put, screen, showable

ATTENTION = 3  # it was done, and what was found wants somebody's attention
INTERRUPTED = 130  # as shells have it

_SHARED = {
    "stack": Annotated[
        str | None,
        typer.Option(
            "--stack",
            metavar="NAME",
            help=f"A deployed stack, or `{EMBEDDED}`. Default: the embedded one that is up in this "
            "folder, else the one that samconfig.toml names.",
        ),
    ],
    "region": Annotated[str | None, typer.Option("--region", help="AWS region of the stack.")],
    "profile": Annotated[str | None, typer.Option("--profile", help="AWS profile to call with.")],
    "as_json": Annotated[bool, typer.Option("--json", help="Answer in JSON, for scripts.")],
}

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask first.")]
P = ParamSpec("P")


class _Command(TyperCommand):
    """Takes the key of an event without an organisation, which begins with -/, for no option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.ignore_unknown_options = any(argument.startswith("-/") for argument in args)
        return super().parse_args(ctx, args)


@dataclass
class Operation:
    """One call of a command: on which stack, and how it answers."""

    stack: Stack
    as_json: bool
    console: Console = field(default_factory=screen)
    errors: Console = field(default_factory=lambda: screen(stderr=True))

    def answer(self, answer: Answer, view: Iterable[RenderableType]) -> None:
        """JSON goes out whole; the view is for people. Both say whose answer it is."""
        answer.stack = str(self.stack)
        if self.as_json:
            typer.echo(json.dumps(answer.model_dump(mode="json", by_alias=True), indent=2))
            return
        put(self.console, f"[dim]{answer.stack}[/]")
        self.say(view)

    def say(self, view: Iterable[RenderableType]) -> None:
        """For people; after `answer` it goes on with it."""
        for part in view:
            put(self.console, part)

    def confirm(self, question: str, yes: bool, facts: Iterable[str] = ()) -> None:
        """Ends the command unless somebody agrees, who is shown the facts before the question."""
        if yes:
            return
        put(self.errors, f"[dim]{self.stack}[/]")
        for fact in facts:
            put(self.errors, fact)
        try:
            typer.confirm(showable(question), abort=True, err=True)
        except typer.Abort:
            raise OnceError("Nothing was changed. In a script, agree with --yes.") from None


def command(
    app: typer.Typer, name: str, example: str
) -> Callable[[Callable[Concatenate[Operation, P], None]], None]:
    """Registers a function of an Operation, with the options that all commands share; one that
    names what it answers has `--json`."""

    def register(function: Callable[Concatenate[Operation, P], None]) -> None:
        def run(stack: str | None, region: str | None, profile: str | None, **given: Any) -> None:
            embedded = stack == EMBEDDED
            try:
                found = Stack.find(stack, region, profile)
                embedded = found.embedded
                function(Operation(found, given.pop("as_json", False)), **given)  # type: ignore[call-arg]
            except (BotoCoreError, ClientError) as error:
                raise plain(error, embedded) from error

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
        own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own]
        run.__signature__ = inspect.Signature([*own, *shared])  # type: ignore[attr-defined]
        run.__doc__ = function.__doc__
        vars(run).update(vars(function))
        app.command(name, cls=_Command, epilog=f"Example: {example}")(run)

    return register
