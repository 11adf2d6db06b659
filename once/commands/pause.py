"""`once pause`: sends the destination no requests for a while."""

import getpass

import click
from once_data_action import breaker
from pydantic import Field
from rich.markup import escape

from once.cli_options import YES, Operation, on_stack
from once.model import Model, words
from once.model.status import Pause
from once.stack.facade import read_clock_ms

_LONGEST_MS = 24 * 3_600_000  # nobody forgets a pause for longer than a day


class Paused(Model):
    """The pause that was set."""

    pause: Pause
    replaced: Pause | None = Field(description="The pause that was in force before; or null.")


@on_stack('once pause --for 2h --reason "the CRM is being repaired"', answers=Paused)
@click.option(
    "--for", "lasting", metavar="TIME", default="30m", help="How long: 90s, 30m, 2h; at most 24h."
)
@click.option(
    "--reason",
    metavar="TEXT",
    default="no reason was given",
    help="The reason that `once status` and `once explain` show.",
)
@YES
def command(operation: Operation, lasting: str, reason: str, yes: bool) -> None:
    """Pause requests to the destination: events wait on the queue, and no try counts."""
    lasts_ms = words.parse_duration(lasting) or 0
    if not 0 < lasts_ms <= _LONGEST_MS:
        raise click.UsageError(
            f"{lasting} is no such time: e.g. --for 90s, 30m or 2h, at most 24h."
        )
    stack, now_ms = operation.stack, read_clock_ms()
    until_ms = now_ms + lasts_ms
    current = stack.read_breaker(now_ms)
    question = f"Pause requests for {words.format_age(lasts_ms)}?"
    facts = ["In a pause events wait on the queue. To end a pause early: once resume"]
    if current.pause:
        facts.insert(0, escape(words.capitalise(current.text(now_ms))))
        if current.pause.until_ms > until_ms:
            question = f"End that pause earlier, in {words.format_age(lasts_ms)}?"
    operation.confirm(question, yes, facts)

    operator = getpass.getuser()  # a local stack knows no identity
    if not stack.is_local:
        operator = str(stack.client("sts").get_caller_identity()["Arn"]).rpartition(":")[2]
    request = breaker.pause(stack.outputs["ClaimTableName"], reason, operator, until_ms, now_ms)
    stack.client("dynamodb").update_item(**request)
    since_ms = current.pause.since_ms if current.pause else now_ms
    replaced = [escape(f"Replaced: {current.text(now_ms)}")] if current.pause else []
    operation.answer(
        Paused(
            pause=Pause(reason=reason, by=operator, since_ms=since_ms, until_ms=until_ms),
            replaced=current.pause,
        ),
        [
            *replaced,
            f"Requests are paused until {words.format_second(until_ms)} UTC; then one request "
            "probes. Requests that have begun are not stopped.",
            "To end the pause early: once resume",
        ],
    )
