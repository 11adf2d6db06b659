"""`make prove`: makes AWS itself the judge of what the project takes it to be."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import boto3
import typer
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from typer.core import TyperCommand

from once.errors import OnceError
from once.local.aws import (
    ACCOUNT,
    REGION,
    Emulator,
    inherited_environment,
    require_local,
)
from once.operate.command import ATTENTION, INTERRUPTED, Yes
from once.operate.refusals import plain
from once.screen import put, screen, showable
from proof.prove import ledger, report, run
from proof.prove.ledger import Ledger
from proof.prove.question import Verdict
from proof.prove.run import Deployment
from proof.prove.site import Place, Site, new_run

SERVER = str(Path(__file__).with_name("server.py"))  # the emulator that stands in for AWS
_ALL = "all"
_MOST_DOLLARS = 0.05
_MOST_DOLLARS_DEPLOYED, _MOST_DOLLARS_AN_HOUR = 1.0, 0.1
_HOURS, _HOURS_LOCAL = 2.0, 0.01


class _Command(TyperCommand):
    """Takes `--clean` alone for all runs, and ends a failure in a sentence."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OnceError as error:
            put(screen(stderr=True), str(error), style="red", markup=False)
            raise typer.Exit(1) from None

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if "--clean" in args:
            at = args.index("--clean") + 1
            if at == len(args) or args[at].startswith("-"):
                args = [*args[:at], _ALL, *args[at:]]
        return super().parse_args(ctx, args)


class OnAws:
    """An account, by the credentials of a profile."""

    is_local = False

    def __init__(self, profile: str | None, region: str | None) -> None:
        region = region or os.environ.get("AWS_REGION")
        self._session: Any = boto3.session.Session(profile_name=profile, region_name=region)
        self._named = profile is not None
        self._clients: dict[str, Any] = {}
        self.account = str(self.client("sts").get_caller_identity()["Account"])
        self.region = str(self.client("sts").meta.region_name)

    def client(self, service: str) -> Any:
        if service not in self._clients:
            # Nobody waits long to hear that there is no network; later, quotas are waited for.
            attempts = 2 if service == "sts" else 8
            config = Config(
                retries={"mode": "standard", "total_max_attempts": attempts}, connect_timeout=5
            )
            self._clients[service] = self._session.client(service, config=config)
        return self._clients[service]

    @cached_property
    def root(self) -> Path:
        """Makes the folder in which SAM builds."""
        return Path(tempfile.mkdtemp(prefix="once-prove-"))

    def environment(self) -> dict[str, str]:
        theirs = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
        named = {"AWS_PROFILE": self._session.profile_name} if self._named else {}
        region = {"AWS_REGION": self.region, "AWS_DEFAULT_REGION": self.region}
        return inherited_environment() | theirs | named | region

    def close(self) -> None:
        if "root" in vars(self):
            shutil.rmtree(self.root, ignore_errors=True)


class OnEmulator:
    is_local, region, account = True, REGION, ACCOUNT

    def __init__(self, aws: Emulator) -> None:
        self.client = aws.client
        self.root = aws.root
        self.environment = aws.environment


app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(cls=_Command)
def prove(
    profile: Annotated[str | None, typer.Option(help="AWS profile to call with.")] = None,
    region: Annotated[str | None, typer.Option(help="AWS region to ask in.")] = None,
    is_local: Annotated[
        bool, typer.Option("--local", help="Ask the emulator, to see how it goes.")
    ] = False,
    deploy: Annotated[
        bool,
        typer.Option(
            "--deploy",
            help="Deploy a throwaway stack, too, ask what only it can answer, delete it.",
        ),
    ] = False,
    hours: Annotated[
        float | None,
        typer.Option(
            min=0.005,
            help="How long messages are returned in it, without the pipe slowing down. Default: "
            f"{_HOURS:g}.",
        ),
    ] = None,
    kms_key: Annotated[
        str, typer.Option(help="Key (ARN) to encrypt the stack with; docs/encryption.md first.")
    ] = "",
    clean: Annotated[
        str | None,
        typer.Option(
            metavar="[NAME]", help="Delete what a run left that could not end: its name, or all."
        ),
    ] = None,
    json_to: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE|-", help="Write the report for machines, too."),
    ] = None,
    yes: Yes = False,
) -> None:
    """Ask AWS whether it is as this project takes it to be."""
    try:
        if clean is not None:
            _clean(clean, profile, region)
            return
        with _place(profile, region, is_local) as place:
            standard = _HOURS_LOCAL if is_local else _HOURS
            deployment = Deployment(place, hours or standard, kms_key) if deploy else None
            _prove(place, deployment, profile, json_to, yes)
    except KeyboardInterrupt:  # a second time, while it was deleting
        put(screen(stderr=True), _what_is_left() or "Interrupted.")
        raise typer.Exit(INTERRUPTED) from None
    except (BotoCoreError, ClientError) as error:
        raise _with_what_is_left(plain(error, is_local)) from error


@contextmanager
def _place(profile: str | None, region: str | None, is_local: bool) -> Iterator[Any]:
    if not is_local:
        place = OnAws(profile, region)
        try:
            yield place
        finally:
            place.close()
        return
    if profile or region:
        raise OnceError("The emulator is in no region and no profile: leave them out.")
    with Emulator.start([SERVER]) as aws:
        yield OnEmulator(aws)


def _prove(
    place: Any,
    deployment: Deployment | None,
    profile: str | None,
    json_to: Path | None,
    yes: bool,
) -> None:
    name = new_run()
    asked = run.questions()
    if deployment is not None:
        require_local()
    _agree(place, name, len(asked), deployment, yes)
    errors = screen(stderr=True)
    where = {"profile": profile, "region": place.region, "account": place.account}
    with errors.status("") as status:
        site = Site(place, Ledger.open(name, where), lambda what: status.update(f"{what} …"))
        found = run.run(site, asked, deployment)
    _answer(found, json_to)
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)
    if found.counts[Verdict.DIFFERS]:
        raise typer.Exit(ATTENTION)


def _agree(place: Place, name: str, number: int, deployment: Deployment | None, yes: bool) -> None:
    if yes or place.is_local:
        return
    errors = screen(stderr=True)
    put(errors, f"The run {name} puts {number} questions to AWS in {place.region}, each twice.")
    put(errors, f"It creates a bucket and a role of that name, {name}, and stacks that are never")
    put(errors, "run, only described.")
    dollars = _MOST_DOLLARS
    if deployment is None:
        put(errors, "Nothing is deployed.")
    else:
        put(errors, f"Then it deploys a stack, {name}, on a bus of its own, and a function,")
        put(errors, f"{name}-sink, in place of a destination, and sends events through them for")
        put(errors, f"some {deployment.hours + 1:g} hours.")
        dollars += _MOST_DOLLARS_DEPLOYED + _MOST_DOLLARS_AN_HOUR * deployment.hours
    put(errors, "At the end all of it is deleted.")
    try:
        question = f"It costs {dollars:.2f} US dollars at most. Go on?"
        typer.confirm(showable(question), abort=True, err=True)
    except typer.Abort:
        raise OnceError("Nothing was asked. In a script, agree with --yes.") from None


def _answer(found: report.Report, json_to: Path | None) -> None:
    text = json.dumps(found.model_dump(mode="json", by_alias=True), indent=2, ensure_ascii=False)
    if json_to == Path("-"):
        typer.echo(text)
        return
    console = screen()
    for part in report.view(found):
        put(console, part)
    if json_to is not None:
        try:
            json_to.write_text(f"{text}\n", "utf-8")
        except OSError as error:
            raise OnceError(f"Cannot write to {json_to}: {error.strerror}.") from error


def _clean(name: str, profile: str | None, region: str | None) -> None:
    found = ledger.kept()
    if name != _ALL:
        runs = [one.run for one in found]
        found = [one for one in found if one.run == name]
        if not found:
            raise OnceError(
                f"No run {name} left anything in this folder. "
                + (f"These did: {', '.join(runs)}." if runs else "None did.")
            )
    console = screen()
    for one in found:
        place = _place_of(one, profile, region)
        if place is not None:
            Site(place, one, lambda what: put(console, f"{what} …")).clean()
        else:  # it ended with its process, and all that was in it
            one.close()
        put(console, f"Nothing is left of {one.run}.")
    if not found:
        put(console, "No run left anything in this folder.")


def _place_of(one: Ledger, profile: str | None, region: str | None) -> OnAws | None:
    if one.where["account"] == ACCOUNT:
        return None
    place = OnAws(profile or one.where["profile"], region or one.where["region"])
    if place.account != one.where["account"]:
        raise OnceError(
            f"The run {one.run} was in another account than these credentials are for.\n"
            'Name the profile that it ran with: make prove ARGS="--clean --profile NAME"'
        )
    return place


def _with_what_is_left(error: OnceError) -> OnceError:
    left = _what_is_left()
    return OnceError(f"{error}\n{left}") if left else error


def _what_is_left() -> str:
    runs = ", ".join(one.run for one in ledger.kept())
    return f"Things may be left of {runs}. Delete them: make prove ARGS=--clean" if runs else ""
