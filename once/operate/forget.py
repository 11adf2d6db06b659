"""`once forget`: opens a claim, so that the next copy of its event acts again."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer
from botocore.exceptions import ClientError
from rich.markup import escape

from once.answers import answers
from once.errors import OnceError
from once.operate import claims, log
from once.operate import phrases as words
from once.operate.claims import LATEST, Claim, Latest, Status
from once.operate.command import Operation, Yes, command
from once.operate.model import Answer
from once.operate.stack import Stack


class Forgotten(Answer):
    """The claim that was opened."""

    key: str
    rewound: list[str]


def register(app: typer.Typer) -> None:
    command(app, "forget", "once forget ORGANISATION/conversation/ID/v1/FAMILY/…")(forget)


@answers(Forgotten)
def forget(
    at: Operation,
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="As `once explain --verbose` shows it.")
    ],
    yes: Yes = False,
) -> None:
    """Let the next copy of an event act again, as a new occurrence with a new Idempotency-Key."""
    now_ms = log.now_ms()
    claim, latest = _find(at.stack, key)
    if claim.held(now_ms):
        seconds = (claim.lease_until - now_ms) // 1000 + 1
        raise OnceError(
            f"Somebody is acting on it right now: {claim.owner}.\n"
            f"Look again with once explain. If that died, its claim is free in {seconds} s."
        )
    newer = [row for row in latest if _blocks(row, claim)]
    at.confirm("Forget it, so that its next copy acts again?", yes, _facts(claim, newer))
    _forget(at.stack, claim, newer, now_ms)
    at.answer(
        Forgotten(key=claim.key, rewound=[row.sk for row in newer]),
        ["Forgotten: its next copy acts again. Copies come by a replay, or by once send."],
    )


def _find(stack: Stack, key: str) -> tuple[Claim, list[Latest]]:
    parts = key.split("/", 3)
    if len(parts) < 4 or not parts[3]:
        raise OnceError(
            f"{key} is not a key: it has organisation, subject type, subject and what follows, "
            "parted by /.\nCopy it from: once explain ID --verbose"
        )
    pk, sk = "/".join(parts[:3]), parts[3]
    rows, latest = claims.of_subject(stack, pk)
    claim = next((row for row in rows if row.sk == sk), None)
    if claim is None:
        raise OnceError(
            f"There is no claim {key}: nothing of it is remembered, so its next copy acts anyway.\n"
            f"See what is known with: once explain {parts[2]} --verbose"
        )
    return claim, latest


def _blocks(row: Latest, claim: Claim) -> bool:
    """Whether a replay would be judged older than what this row has seen pass."""
    family, _, latest_by = row.sk.removeprefix(LATEST).partition("/")
    # A claim does not say of what it is the latest, but all that this is made of is in its key.
    known = claim.sk.replace("=", "/").split("/")
    parts = [part for part in latest_by.split("/") if part and not part.startswith("~")]
    return (
        family == claim.family
        and row.event_time > claim.event_time
        and all(part in known for part in parts)
    )


def _facts(claim: Claim, newer: list[Latest]) -> Iterator[str]:
    yield escape(
        f"{claim.topic} of {words.moment(claim.event_time)} UTC, {claim.outcome or claim.status}."
    )
    if newer:
        moments = ", ".join(words.moment(row.event_time) for row in newer)
        yield (
            f"A newer state has passed ({moments} UTC). The replay will act all the same, and "
            "until then late events from in between are no longer told from new ones."
        )


def _forget(stack: Stack, claim: Claim, newer: list[Latest], now_ms: int) -> None:
    """All of it or nothing: a newest time moved back under a claim that stands would let what is
    stale act."""
    expires = claims.expires(stack, now_ms)
    table = stack.outputs["ClaimTableName"]
    changes = [_opened(claim, now_ms, expires), *(_rewound(row, claim, expires) for row in newer)]
    try:
        stack.client("dynamodb").transact_write_items(
            TransactItems=[{"Update": {"TableName": table, **change}} for change in changes]
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "TransactionCanceledException":
            raise
        raise OnceError(
            "It changed while you were asked, so nothing was forgotten. Look: once explain"
        ) from error


def _opened(claim: Claim, now_ms: int, expires: dict[str, str]) -> dict[str, Any]:
    """As a released claim, so that whoever takes it over carries the new occurrence on."""
    return {
        "Key": {"pk": {"S": claim.pk}, "sk": {"S": claim.sk}},
        "UpdateExpression": (
            "SET #status = :failed, occurrence = :occurrence, expires_at = :expires"
        ),
        "ConditionExpression": "#owner = :owner AND #status = :seen",
        "ExpressionAttributeNames": {"#status": "status", "#owner": "owner"},
        "ExpressionAttributeValues": {
            ":failed": {"S": Status.FAILED},
            # Below zero it is told from all that events bring with them.
            ":occurrence": {"N": str(-now_ms)},
            ":expires": expires,
            ":owner": {"S": claim.owner},
            ":seen": {"S": claim.status},
        },
    }


def _rewound(row: Latest, claim: Claim, expires: dict[str, str]) -> dict[str, Any]:
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
