"""`once forget`: opens a claim, so that the next copy of its event is acted on again."""

import shlex
from typing import Any

import click
from botocore.exceptions import ClientError
from rich.markup import escape

from once.cli_options import YES, Operation, on_stack
from once.errors import OnceError
from once.model import Model, words
from once.model.records import LATEST, Claim, ClaimStatus, Key, Latest, row_key
from once.stack.facade import read_clock_ms


class Forgotten(Model):
    """The claim that was opened."""

    key: str
    rewound: list[str]
    """The rows of a newest state that was moved back."""


@on_stack("once forget ORGANISATION/conversation/ID/v2/FAMILY/…", answers=Forgotten)
@click.argument("key_text", metavar="KEY")
@YES
def command(operation: Operation, key_text: str, yes: bool) -> None:
    """Open a claim: the next copy of its event is acted on again, with a new Idempotency-Key.

    KEY is a key from `once explain --verbose`.
    """
    stack, now_ms = operation.stack, read_clock_ms()
    key = Key.parse(key_text)
    if key is None:
        raise OnceError(
            f"{key_text} is not a key: organisation, subject type, subject and what follows, "
            "separated by /.\nCopy it from: once explain ID --verbose"
        )
    claims, latest = stack.read_claims(key.subject)
    claim = next((row for row in claims if row.key == key), None)
    if claim is None:
        raise OnceError(
            f"There is no claim {key}, so its next copy is acted on anyway.\n"
            f"See what is known with: once explain {shlex.quote(key.subject.id)} --verbose"
        )
    if claim.is_held(now_ms):
        raise OnceError(
            f"It is in progress right now: {claim.owner}.\nSee: once explain. If the owner died, "
            f"its claim is free in {claim.free_in_seconds(now_ms)} s."
        )
    newer = [row for row in latest if _passes(row, claim)]
    when = words.format_time(claim.event_time)
    facts = [escape(f"{claim.topic} of {when} UTC, {claim.outcome or claim.status}.")]
    if newer:
        times = ", ".join(words.format_time(row.event_time or 0) for row in newer)
        facts.append(
            f"A newer state has passed ({times} UTC). The replay is acted on nevertheless. Until "
            "then, late events from between the two count as new."
        )
    operation.confirm("Forget it, so that its next copy is acted on?", yes, facts)

    table, days = stack.outputs["ClaimTableName"], int(stack.parameters.get("ClaimDays", "30"))
    expires = {"N": str(now_ms // 1000 + days * 86_400)}
    changes = [_open(claim, now_ms, expires), *(_rewind(row, claim, expires) for row in newer)]
    try:
        # All of it or nothing: a newest time moved back under a claim that stands would let a
        # stale event be acted on.
        stack.client("dynamodb").transact_write_items(
            TransactItems=[{"Update": {"TableName": table, **change}} for change in changes]
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "TransactionCanceledException":
            raise
        raise OnceError(
            "The claim changed meanwhile, so nothing was forgotten. See: once explain"
        ) from error
    operation.answer(
        Forgotten(key=str(key), rewound=[row.sk for row in newer]),
        ["Forgotten: its next copy is acted on. Copies come by a replay, or by once send."],
    )


def _passes(row: Latest, claim: Claim) -> bool:
    """Returns true if a replay would be older than the newest state of this row."""
    family, _, parts_of_row = row.sk.removeprefix(LATEST).partition("/")
    # A claim does not name this row, but all that the row's name is made of is in the claim's key.
    known = claim.sk.replace("=", "/").split("/")
    parts = [part for part in parts_of_row.split("/") if part and not part.startswith("~")]
    return (
        family == claim.family
        and (row.event_time or 0) > claim.event_time
        and all(part in known for part in parts)
    )


def _open(claim: Claim, now_ms: int, expires: dict[str, str]) -> dict[str, Any]:
    """Releases the claim for any copy: without `due_at` no copy has to wait for another one."""
    return {
        "Key": row_key(claim.key),
        "UpdateExpression": (
            "SET #status = :failed, occurrence = :occurrence, tries = :zero, failed_at = :zero, "
            "deaths = :zero, expires_at = :expires REMOVE due_at"
        ),
        "ConditionExpression": "#owner = :owner AND #status = :seen",
        "ExpressionAttributeNames": {"#status": "status", "#owner": "owner"},
        "ExpressionAttributeValues": {
            ":failed": {"S": ClaimStatus.FAILED},
            # Below zero it is told from all that events bring with them.
            ":occurrence": {"N": str(-now_ms)},
            ":zero": {"N": "0"},
            ":expires": expires,
            ":owner": {"S": claim.owner},
            ":seen": {"S": claim.status},
        },
    }


def _rewind(row: Latest, claim: Claim, expires: dict[str, str]) -> dict[str, Any]:
    return {
        "Key": {"pk": {"S": row.pk}, "sk": {"S": row.sk}},
        "UpdateExpression": "SET event_time = :time, expires_at = :expires",
        "ConditionExpression": "event_time = :seen",
        "ExpressionAttributeValues": {
            ":time": {"N": str(claim.event_time)},
            ":seen": {"N": str(row.event_time)},
            ":expires": expires,
        },
    }
