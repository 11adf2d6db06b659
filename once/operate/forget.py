"""`once forget`: opens a claim, so that the next copy of its event is acted on again."""

import shlex
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from botocore.exceptions import ClientError
from rich.markup import escape

from once.answers import answers
from once.errors import NotFoundError, OnceError
from once.keys import Key
from once.operate import log
from once.operate import phrases as words
from once.operate.claims import (
    LATEST,
    Claim,
    Latest,
    Status,
    expire_at,
    read_subject,
    row_key,
)
from once.operate.command import Operation, Yes, command
from once.operate.model import Answer
from once.operate.stack import Stack


class Forgotten(Answer):
    """The claim that was opened."""

    key: str
    rewound: list[str]


@command("once forget ORGANISATION/conversation/ID/v1/FAMILY/…")
@answers(Forgotten)
def forget(
    at: Operation,
    key: Annotated[str, typer.Argument(metavar="KEY", help="A key from `once explain --verbose`.")],
    yes: Yes = False,
) -> None:
    """Open a claim: the next copy of its event is acted on again, with a new Idempotency-Key."""
    now_ms = log.now_ms()
    claim, latest = _find(at.stack, key)
    if claim.is_held(now_ms):
        raise OnceError(
            f"It is in progress right now: {claim.owner}.\nSee: once explain. If the owner died, "
            f"its claim is free in {claim.free_in_seconds(now_ms)} s."
        )
    newer = [row for row in latest if _blocks(row, claim)]
    when = words.format_time(claim.event_time)
    facts = [escape(f"{claim.topic} of {when} UTC, {claim.outcome or claim.status}.")]
    if newer:
        times = ", ".join(words.format_time(row.event_time) for row in newer)
        facts.append(
            f"A newer state has passed ({times} UTC). The replay is acted on nevertheless. Until "
            "then, late events from between the two count as new."
        )
    at.confirm("Forget it, so that its next copy is acted on?", yes, facts)
    _forget(at.stack, claim, newer, now_ms)
    at.answer(
        Forgotten(key=str(claim.key), rewound=[row.sk for row in newer]),
        ["Forgotten: its next copy is acted on. Copies come by a replay, or by once send."],
    )


def _find(stack: Stack, text: str) -> tuple[Claim, Sequence[Latest]]:
    key = Key.parse(text)
    if key is None:
        raise OnceError(
            f"{text} is not a key: it has organisation, subject type, subject and what follows, "
            "separated by /.\nCopy it from: once explain ID --verbose"
        )
    rows, latest = read_subject(stack, key.subject)
    claim = next((row for row in rows if row.key == key), None)
    if claim is None:
        raise NotFoundError(
            f"There is no claim {key}, so its next copy is acted on anyway.\n"
            f"See what is known with: once explain {shlex.quote(key.subject.id)} --verbose"
        )
    return claim, latest


def _blocks(row: Latest, claim: Claim) -> bool:
    """Returns true if a replay would be judged older than the newest state of this row."""
    family, _, latest_by = row.sk.removeprefix(LATEST).partition("/")
    # A claim does not say of what it is the latest, but all that this is made of is in its key.
    known = claim.sk.replace("=", "/").split("/")
    parts = [part for part in latest_by.split("/") if part and not part.startswith("~")]
    return (
        family == claim.family
        and row.event_time > claim.event_time
        and all(part in known for part in parts)
    )


def _forget(stack: Stack, claim: Claim, newer: Sequence[Latest], now_ms: int) -> None:
    """Writes all of it or nothing: a newest time moved back under a claim that stands would let
    a stale event act."""
    expires = expire_at(stack, now_ms)
    table = stack.outputs["ClaimTableName"]
    rewinds = [
        {
            "Key": {"pk": {"S": row.pk}, "sk": {"S": row.sk}},
            "UpdateExpression": "SET event_time = :time, expires_at = :expires",
            "ConditionExpression": "event_time = :seen",
            "ExpressionAttributeValues": {
                ":time": {"N": str(claim.event_time)},
                ":seen": {"N": str(row.event_time)},
                ":expires": expires,
            },
        }
        for row in newer
    ]
    changes = [_open(claim, now_ms, expires), *rewinds]
    try:
        stack.client("dynamodb").transact_write_items(
            TransactItems=[{"Update": {"TableName": table, **change}} for change in changes]
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "TransactionCanceledException":
            raise
        raise OnceError(
            "The claim changed meanwhile, so nothing was forgotten. See: once explain"
        ) from error


def _open(claim: Claim, now_ms: int, expires: dict[str, str]) -> dict[str, Any]:
    """Opens it as a released claim, so that its next owner carries the new occurrence on."""
    return {
        "Key": row_key(claim.key),
        "UpdateExpression": (
            "SET #status = :failed, occurrence = :occurrence, tries = :zero, failed_at = :zero, "
            "expires_at = :expires"
        ),
        "ConditionExpression": "#owner = :owner AND #status = :seen",
        "ExpressionAttributeNames": {"#status": "status", "#owner": "owner"},
        "ExpressionAttributeValues": {
            ":failed": {"S": Status.FAILED},
            # Below zero it is told from all that events bring with them.
            ":occurrence": {"N": str(-now_ms)},
            ":zero": {"N": "0"},
            ":expires": expires,
            ":owner": {"S": claim.owner},
            ":seen": {"S": claim.status},
        },
    }
