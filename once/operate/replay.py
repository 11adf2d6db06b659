"""`once replay`: sends a slice of the stack's archive to its rule once more."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import uuid4

import typer
from botocore.exceptions import ClientError
from pydantic import Field
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from once.answers import answers
from once.errors import OnceError
from once.operate import log
from once.operate import phrases as words
from once.operate.command import ATTENTION, INTERRUPTED, Operation, Yes, command
from once.operate.model import Answer
from once.operate.stack import Stack
from once.operate.typed import parse_time
from once.plan.cost import MILLION
from once.plan.traffic import prices

_OUTPUT = "EventArchiveArn"
_POLL_SECONDS = 2.0
_CANCEL_SECONDS = 60
_DAY_MS = 86_400_000
# Replaying is better delayed by ten minutes, and the counts of an archive are up to a day old:
# eventbridge, "Archiving and replaying events".
_LATE_MS = 600_000
# Of the 64 characters that a replay's name may have (eventbridge API, StartReplay).
_NAME_CHARACTERS = 40
_OVER = ("COMPLETED", "CANCELLED", "FAILED")


class Replayed(Answer):
    """A slice of the archive that was sent to the rule."""

    name: str = Field(description="Of the replay; its events carry it as replay-name.")
    state: str = Field(description="COMPLETED, CANCELLED or FAILED, as EventBridge has it.")
    state_reason: str | None = Field(description="Why; null where EventBridge says nothing.")
    from_ms: int = Field(description="Where the slice begins, epoch milliseconds.")
    to_ms: int = Field(description="Where the slice ends, epoch milliseconds.")
    sent_until_ms: int | None = Field(
        description="The time of the last event that was sent; null where EventBridge names none."
    )
    about_events: int = Field(description="In the slice, if the archive's events came evenly.")
    about_dollars: float = Field(description="What EventBridge takes for so many, at list price.")


@dataclass(frozen=True)
class Slice:
    """A part of an archive, and how much of it that is."""

    from_ms: int
    to_ms: int
    began_ms: int
    now_ms: int
    archive: Mapping[str, Any]

    @property
    def about_events(self) -> int:
        within = self.to_ms - max(self.from_ms, self.began_ms)
        events: int = self.archive["EventCount"]
        return round(events * within / max(1, self.now_ms - self.began_ms))

    @property
    def about_dollars(self) -> float:
        return self.about_events * float(prices()["eventbridge"]["replay_per_million"]) / MILLION

    def __str__(self) -> str:
        return f"{_format_minute(self.from_ms)} to {_format_minute(self.to_ms)} UTC"


@command("once replay --from 2026-05-04T08:00 --to 2026-05-04T09:30")
@answers(Replayed)
def replay(
    at: Operation,
    begin: Annotated[
        str, typer.Option("--from", metavar="TIME", help="In UTC, e.g. 2026-05-04T08:00.")
    ],
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="In UTC, after --from.")],
    yes: Yes = False,
) -> None:
    """Replay part of the archive to the rule; events already acted on are skipped."""
    events = at.stack.client("events")
    wanted = _find_slice(
        at.stack, parse_time(begin, "--from"), parse_time(end, "--to"), log.now_ms()
    )
    rule = _find_rule(at.stack)
    at.confirm(f"Replay {wanted}?", yes, _say_facts(at.stack, wanted))
    started = f"{_from_ms(wanted.now_ms):%Y%m%dT%H%M%S}"
    name = f"{at.stack.name[:_NAME_CHARACTERS]}-{started}-{uuid4().hex[:4]}"
    events.start_replay(
        ReplayName=name,
        EventSourceArn=wanted.archive["ArchiveArn"],
        EventStartTime=_from_ms(wanted.from_ms),
        EventEndTime=_from_ms(wanted.to_ms),
        Destination={"Arn": wanted.archive["EventSourceArn"], "FilterArns": [rule]},
    )
    try:
        found = _follow(events, name, wanted, at.errors)
    except KeyboardInterrupt:
        found = _cancel(events, name)
    last = found.get("EventLastReplayedTime")
    replayed = Replayed(
        name=name,
        state=found["State"],
        state_reason=found.get("StateReason"),
        from_ms=wanted.from_ms,
        to_ms=wanted.to_ms,
        sent_until_ms=_to_ms(last) if last else None,
        about_events=wanted.about_events,
        about_dollars=wanted.about_dollars,
    )
    at.answer(replayed, _view(replayed, str(wanted)))
    if replayed.state != "COMPLETED":
        raise typer.Exit(ATTENTION if replayed.state == "FAILED" else INTERRUPTED)


def _find_slice(stack: Stack, from_ms: int, to_ms: int, now_ms: int) -> Slice:
    if not from_ms < to_ms <= now_ms:
        raise OnceError(
            f"There is nothing between {_format_minute(from_ms)} and {_format_minute(to_ms)} UTC: "
            f"--from comes before --to, and --to not after now, {_format_minute(now_ms)}."
        )
    arn = stack.outputs.get(_OUTPUT)
    if arn is None:
        raise OnceError(
            "This stack keeps no archive. Deploy it with ArchiveDays, e.g. 14: what comes from "
            "then on can be replayed.\nWhat is in a file can be sent by: once send"
        )
    archive = stack.client("events").describe_archive(ArchiveName=arn.rpartition("/")[2])
    began_ms = max(_to_ms(archive["CreationTime"]), now_ms - archive["RetentionDays"] * _DAY_MS)
    if to_ms <= began_ms:
        raise OnceError(
            f"The archive has nothing before {_format_minute(began_ms)} UTC: it keeps "
            f"{archive['RetentionDays']} days (ArchiveDays), from when it was made."
        )
    return Slice(from_ms, to_ms, began_ms, now_ms, archive)


def _find_rule(stack: Stack) -> str:
    """The ARN of the rule, which other rules of the bus are kept out by."""
    name, bus = stack.outputs["EventRuleName"], stack.outputs["EventBusName"]
    rule = stack.client("events").describe_rule(Name=name, EventBusName=bus)
    if rule["State"] == "DISABLED":
        raise OnceError(
            f"The rule {name} is disabled, so nothing of a replay would reach the queue.\n"
            f"Enable it first: aws events enable-rule --name {name} --event-bus-name {bus}"
        )
    return str(rule["Arn"])


def _say_facts(stack: Stack, wanted: Slice) -> Iterator[str]:
    events = words.count_events(wanted.archive["EventCount"])
    megabytes = wanted.archive["SizeBytes"] / 1e6
    yield (
        f"The archive holds {events}, {megabytes:,.1f} MB, "
        f"from {_format_minute(wanted.began_ms)} UTC on, by a count that may be a day old."
    )
    yield (
        f"If they arrived evenly, this time has about {wanted.about_events:,} events. EventBridge "
        f"charges ${wanted.about_dollars:,.2f}, and the stack as for any event (once cost)."
    )
    yield (
        "Events already acted on are skipped, all others are acted on now. To act on one again, "
        "first run: once forget KEY"
    )
    claim_days = int(stack.parameters.get("ClaimDays", "30"))
    forgotten_ms = wanted.now_ms - claim_days * _DAY_MS
    if wanted.from_ms < forgotten_ms:
        yield (
            f"[yellow]Events older than ClaimDays ({claim_days}) have no claim and are acted on "
            f"again: all before {_format_minute(forgotten_ms)} UTC.[/]"
        )
    if wanted.to_ms > wanted.now_ms - _LATE_MS:
        yield "Events of the last ten minutes may not have reached the archive yet."


def _follow(events: Any, name: str, wanted: Slice, console: Console) -> Mapping[str, Any]:
    """Waits until it is over."""
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        bar = progress.add_task("replaying", total=wanted.to_ms - wanted.from_ms)
        while True:
            found: Mapping[str, Any] = events.describe_replay(ReplayName=name)
            if found["State"] in _OVER:
                return found
            reached = found.get("EventLastReplayedTime")
            if reached is not None:
                progress.update(bar, completed=_to_ms(reached) - wanted.from_ms)
            time.sleep(_POLL_SECONDS)


def _cancel(events: Any, name: str) -> Mapping[str, Any]:
    try:
        events.cancel_replay(ReplayName=name)
    except ClientError as error:
        # It ended in between, as its description says.
        if error.response["Error"]["Code"] != "IllegalStatusException":
            raise
    until = time.monotonic() + _CANCEL_SECONDS
    while True:
        found: Mapping[str, Any] = events.describe_replay(ReplayName=name)
        if found["State"] in _OVER or time.monotonic() > until:
            return found
        time.sleep(_POLL_SECONDS)


def _view(replayed: Replayed, slice_: str) -> Iterator[str]:
    sent = "nothing was sent"
    if replayed.sent_until_ms is not None:
        sent = f"all until {words.format_second(replayed.sent_until_ms)} UTC was sent"
    if replayed.state == "COMPLETED":
        yield f"Replayed {slice_}; it is in the queue now."
        yield "To follow it: once status"
    elif replayed.state == "FAILED":
        reason = f": {escape(replayed.state_reason)}" if replayed.state_reason else ""
        yield f"[red]The replay failed{reason}.[/] As far as EventBridge says, {sent}."
        yield "The same command once more skips what has acted meanwhile."
    else:
        yield f"Interrupted, the replay is {replayed.state}: as far as EventBridge says, {sent}."
        yield "The same command once more skips what has acted meanwhile."


def _to_ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def _from_ms(ms: int) -> datetime:
    return datetime.fromtimestamp(ms / 1000, UTC)


def _format_minute(ms: int) -> str:
    return words.format_time(ms)[:16]
