"""`once parked`: events that no further try could help, until a person has removed the cause."""

import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from botocore.exceptions import ClientError
from pydantic import Field
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Column, Table

from once.errors import OnceError
from once.operate import claims, log
from once.operate import phrases as words
from once.operate.bulk import PACE, Done, Rate, report, resend, work_through
from once.operate.command import Operation, Yes, command
from once.operate.groups import (
    LISTED,
    Group,
    counts,
    groups,
    refuse,
    source_of,
    strangers,
    table,
)
from once.operate.model import Model
from once.operate.queues import Letter, Reading
from once.operate.stack import Stack

_OUTPUT = "ParkingQueueUrl"
_UNCERTAIN = "UNCERTAIN"

_Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Messages, conversations, users, queues; none for all."),
]
_Reason = Annotated[str | None, typer.Option(help="Only those with this reason.")]


class Parked(Model):
    """One parked event."""

    message_id: str
    reason: str
    detail: str | None = None
    family: str | None = None
    source: str | None = None
    key: str | None = None
    owner: str | None = None
    cause: str | None = Field(default=None, description="What was wrong, in a sentence.")
    status: int | None = Field(default=None, description="The destination's last HTTP status.")
    tries: int | None = None
    failed_at_ms: int | None = Field(default=None, description="When its last failed call ended.")
    parked_at_ms: int
    element: dict[str, Any] | None = None
    letter_id: str = Field(exclude=True)

    @property
    def why(self) -> tuple[str, str | None]:
        # Not the cause: it may hold a correlation id, which is another each time.
        return self.reason, self.detail or (f"HTTP {self.status}" if self.status else None)

    @property
    def since_ms(self) -> int:
        return self.parked_at_ms

    def is_called(self, name: str) -> bool:
        return name in (self.message_id, self.key, *(self.key or "").split("/")[2:3])


class ParkedList(Model):
    groups: list[Group]
    parked: list[Parked]


def register(app: typer.Typer) -> None:
    parked = typer.Typer(no_args_is_help=True, help="Events that wait for a person's decision.")
    command(parked, "list", "once parked list --reason REJECTED")(list_parked)
    command(parked, "show", "once parked show 681e3548-4471-4ed2-b5b0-42109261e2d2")(show)
    command(parked, "replay", "once parked replay --reason REJECTED")(replay)
    command(parked, "drop", "once parked drop 681e3548-4471-4ed2-b5b0-42109261e2d2")(drop)
    app.add_typer(parked, name="parked")


def list_parked(at: Operation, ids: _Ids = None, reason: _Reason = None) -> None:
    """List what is parked, by reason, detail, family and source."""
    found = _chosen(_read(at.stack), ids, reason)
    for parked in found:
        parked.element = None
    listed = ParkedList(groups=groups(found), parked=found)
    at.answer(listed, _tables(listed) if found else [_nothing(ids, reason)])


def show(at: Operation, ids: Annotated[list[str], typer.Argument(metavar="ID...")]) -> None:
    """Show parked events whole. They may hold phone numbers."""
    everything = _read(at.stack)
    refuse(strangers(ids, everything), "parked")
    found = _chosen(everything, ids, None)
    at.answer(
        ParkedList(groups=groups(found), parked=found),
        (line for parked in found for line in _whole(parked)),
    )


def replay(
    at: Operation,
    ids: _Ids = None,
    reason: _Reason = None,
    rate: Rate = PACE,
    yes: Yes = False,
) -> None:
    """Send parked events through once more, when the cause is removed."""
    everything = _read(at.stack)
    unknown = strangers(ids, everything)
    # Some may be gone: typed again after an interruption, it goes on with the rest.
    if ids and len(unknown) == len(ids):
        refuse(unknown, "parked")
    _refuse_reason(reason, everything)
    found = _chosen(everything, ids, reason)
    if not found:
        at.answer(Done(), [_nothing(ids, reason)])
        return
    uncertain = sum(parked.reason == _UNCERTAIN for parked in found)
    question = f"Replay {words.events(len(found))}?"
    if uncertain:
        question = (
            f"{uncertain} of {len(found)} may have acted already ({_UNCERTAIN}): did you look at "
            "the destination? Replay all the same?"
        )
    facts = [*counts(found), "They go into the queue once more, and act unless a copy has acted."]
    at.confirm(question, yes, facts)

    def each(letter: Letter) -> None:
        parked = _parked(letter)
        if parked.reason == _UNCERTAIN:
            _reset(at.stack, parked)
        resend(at.stack, _body(at.stack, parked), (parked.element or {}).get("firstSentAtMs"))

    _work(at, found, each, rate, "replayed")


def drop(at: Operation, ids: _Ids = None, reason: _Reason = None, yes: Yes = False) -> None:
    """Delete parked events that shall never act."""
    if not ids and not reason:
        raise OnceError("Name what to delete: ids, or --reason CODE. See: once parked list")
    everything = _read(at.stack)
    refuse(strangers(ids, everything), "parked")
    _refuse_reason(reason, everything)
    found = _chosen(everything, ids, reason)
    if not found:
        at.answer(Done(), [_nothing(ids, reason)])
        return
    facts = [*counts(found), "Nobody can bring them back, and they never act."]
    at.confirm(f"Delete {words.events(len(found))} for good?", yes, facts)
    _work(at, found, lambda _: None, PACE, "dropped")


def _work(
    at: Operation, found: list[Parked], each: Callable[[Letter], None], rate: float, word: str
) -> None:
    wanted = {parked.letter_id for parked in found}
    report(at, work_through(at.stack, _OUTPUT, wanted, each, rate, at.errors), word)


def _read(stack: Stack) -> list[Parked]:
    with Reading(stack, _OUTPUT) as reading:
        found = [_parked(letter) for letters in reading.batches() for letter in letters]
    return sorted(found, key=lambda parked: parked.parked_at_ms)


def _chosen(found: list[Parked], ids: list[str] | None, reason: str | None) -> list[Parked]:
    return [
        parked
        for parked in found
        if (reason is None or parked.reason == reason.upper())
        and (not ids or any(parked.is_called(name) for name in ids))
    ]


def _refuse_reason(reason: str | None, everything: list[Parked]) -> None:
    """Where nothing can ever be parked for it."""
    there = sorted({parked.reason for parked in everything})
    if reason is not None and reason.upper() not in {*words.REASONS, *there}:
        raise OnceError(
            f"{reason} is no reason to park an event. "
            f"There {'is ' + ', '.join(there) if there else 'is nothing parked'}."
        )


def _parked(letter: Letter) -> Parked:
    try:
        body = json.loads(letter.body)
        element = body["element"]
        key = element.get("key")
        return Parked(
            message_id=element["messageId"],
            reason=body["reason"],
            detail=element.get("detail"),
            cause=body.get("cause"),
            family=element.get("family"),
            source=source_of(element),
            key=f"{key['pk']}/{key['sk']}" if key else None,
            owner=body["owner"],
            status=body.get("status"),
            tries=body.get("tries"),
            failed_at_ms=body.get("failedAtMs"),
            parked_at_ms=letter.sent_ms,
            element=element,
            letter_id=letter.message_id,
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return Parked(
            message_id=letter.message_id,
            reason="NOT_OURS",
            parked_at_ms=letter.sent_ms,
            letter_id=letter.message_id,
        )


def _body(stack: Stack, parked: Parked) -> str:
    element = parked.element
    if element is None:
        raise OnceError("It was not parked by us, so there is nothing to replay; drop it.")
    if element["kind"] == "event":
        return json.dumps(element)
    if "rawRef" in element:
        at = element["rawRef"]
        content = stack.client("s3").get_object(Bucket=at["bucket"], Key=at["key"])["Body"].read()
        text: str = content.decode()
        return text
    return str(element["raw"])


def _reset(stack: Stack, parked: Parked) -> None:
    """Its claim says done, so that no copy asks meanwhile. Opened, it lets the replay act.

    Only as this event left it: whoever reset it before, or acted since, has settled that.
    """
    key = (parked.element or {})["key"]
    try:
        stack.client("dynamodb").update_item(
            TableName=stack.outputs["ClaimTableName"],
            Key={"pk": {"S": key["pk"]}, "sk": {"S": key["sk"]}},
            UpdateExpression="SET #status = :failed, expires_at = :expires",
            ConditionExpression="#status = :done AND outcome = :parked AND #owner = :owner",
            ExpressionAttributeNames={"#status": "status", "#owner": "owner"},
            ExpressionAttributeValues={
                ":failed": {"S": claims.Status.FAILED},
                ":expires": claims.expires(stack, log.now_ms()),
                ":done": {"S": claims.Status.DONE},
                ":parked": {"S": "PARKED"},
                ":owner": {"S": parked.owner},
            },
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise


def _tables(listed: ParkedList) -> Iterator[RenderableType]:
    now_ms = log.now_ms()
    yield table(listed.groups, now_ms)
    if len(listed.parked) > LISTED:
        yield f"More than {LISTED}, so not one by one: give an id or --reason, or --json."
    else:
        entries = Table("age", "reason", Column("message", no_wrap=True), "what", box=None)
        for parked in listed.parked:
            age = words.age(now_ms - parked.parked_at_ms)
            entries.add_row(
                age, escape(parked.reason), escape(parked.message_id), escape(_what(parked))
            )
        yield ""
        yield entries
    yield "One whole: once parked show ID. Put right: once parked replay. Never: once parked drop"


def _nothing(ids: list[str] | None, reason: str | None) -> str:
    return "Nothing is parked that fits." if ids or reason else "Nothing is parked."


def _what(parked: Parked) -> str:
    if parked.key is None:
        return parked.detail or ""
    kind, subject = parked.key.split("/")[1:3]
    what = f"{words.event(parked.family or '', parked.key)} ({kind} {subject})"
    return f"{what}: {parked.cause}" if parked.cause else what


def _whole(parked: Parked) -> Iterator[str]:
    said = [words.reason(parked.reason), parked.detail, parked.cause]
    if parked.failed_at_ms:
        said.append(f"last called on {words.moment(parked.failed_at_ms)[:19]} UTC")
    if parked.tries:
        said.append(f"{parked.tries} tries")
    yield escape(f"{parked.message_id}: {'; '.join(part for part in said if part)}")
    for line in json.dumps(parked.element, indent=2, ensure_ascii=False).split("\n"):
        yield escape(line)
