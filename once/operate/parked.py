"""`once parked`: events that no further try could help, until a person has mended the cause."""

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
    key: str | None = None
    owner: str | None = None
    parked_at_ms: int
    element: dict[str, Any] | None = None
    letter_id: str = Field(exclude=True)

    def asked_for(self, ids: list[str] | None, reason: str | None) -> bool:
        if reason is not None and self.reason != reason.upper():
            return False
        subject = (self.key or "").split("/")[2:3]
        return not ids or not {self.message_id, self.key, *subject}.isdisjoint(ids)


class ParkedList(Model):
    parked: list[Parked]


def register(app: typer.Typer) -> None:
    parked = typer.Typer(no_args_is_help=True, help="Events that wait for a person's decision.")
    command(parked, "list", "once parked list --reason REJECTED")(list_parked)
    command(parked, "show", "once parked show 681e3548-4471-4ed2-b5b0-42109261e2d2")(show)
    command(parked, "replay", "once parked replay --reason REJECTED")(replay)
    command(parked, "drop", "once parked drop 681e3548-4471-4ed2-b5b0-42109261e2d2")(drop)
    app.add_typer(parked, name="parked")


def list_parked(at: Operation, ids: _Ids = None, reason: _Reason = None) -> None:
    """List what is parked, with the reason."""
    found = _read(at.stack, ids, reason)
    for parked in found:
        parked.element = None
    at.answer(ParkedList(parked=found), _table(found) if found else [_nothing(ids, reason)])


def show(at: Operation, ids: Annotated[list[str], typer.Argument(metavar="ID...")]) -> None:
    """Show parked events whole. They may hold phone numbers."""
    found = _read(at.stack, ids, None)
    if not found:
        raise OnceError(f"Nothing is parked of {', '.join(ids)}. See: once parked list")
    at.answer(ParkedList(parked=found), [_whole(parked) for parked in found])


def replay(
    at: Operation,
    ids: _Ids = None,
    reason: _Reason = None,
    rate: Rate = PACE,
    yes: Yes = False,
) -> None:
    """Send parked events through once more, when what they were parked for is mended."""
    found = _read(at.stack, ids, reason)
    uncertain = sum(parked.reason == _UNCERTAIN for parked in found)
    if not found:
        at.answer(Done(), [_nothing(ids, reason)])
        return
    question = f"Replay {words.events(len(found))}?"
    if uncertain:
        question = (
            f"{uncertain} of {len(found)} may have acted already ({_UNCERTAIN}): did you look at "
            "the destination? Replay all the same?"
        )
    at.confirm(question, yes)

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
    found = _read(at.stack, ids, reason)
    if not found:
        at.answer(Done(), [_nothing(ids, reason)])
        return
    at.confirm(f"Delete {words.events(len(found))} for good?", yes)
    _work(at, found, lambda _: None, PACE, "dropped")


def _work(
    at: Operation, found: list[Parked], each: Callable[[Letter], None], rate: float, word: str
) -> None:
    wanted = {parked.letter_id for parked in found}
    report(at, work_through(at.stack, _OUTPUT, wanted, each, rate, at.errors), word)


def _read(stack: Stack, ids: list[str] | None, reason: str | None) -> list[Parked]:
    with Reading(stack, _OUTPUT) as reading:
        found = [_parked(letter) for letters in reading.batches() for letter in letters]
    chosen = [parked for parked in found if parked.asked_for(ids, reason)]
    return sorted(chosen, key=lambda parked: parked.parked_at_ms)


def _parked(letter: Letter) -> Parked:
    try:
        body = json.loads(letter.body)
        element = body["element"]
        key = element.get("key")
        return Parked(
            message_id=element["messageId"],
            reason=body["reason"],
            detail=element.get("detail"),
            family=element.get("family"),
            key=f"{key['pk']}/{key['sk']}" if key else None,
            owner=body["owner"],
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
            UpdateExpression="SET #status = :failed",
            ConditionExpression="#status = :done AND outcome = :parked AND #owner = :owner",
            ExpressionAttributeNames={"#status": "status", "#owner": "owner"},
            ExpressionAttributeValues={
                ":failed": {"S": claims.Status.FAILED},
                ":done": {"S": claims.Status.DONE},
                ":parked": {"S": "PARKED"},
                ":owner": {"S": parked.owner},
            },
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise


def _table(found: list[Parked]) -> Iterator[RenderableType]:
    table = Table("Age", "Reason", Column("Message", no_wrap=True), "What", box=None)
    now_ms = log.now_ms()
    for parked in found:
        age = words.age(now_ms - parked.parked_at_ms)
        table.add_row(age, parked.reason, parked.message_id, escape(_what(parked)))
    yield table
    yield "One whole: once parked show ID. Mended: once parked replay. Never: once parked drop ID"


def _nothing(ids: list[str] | None, reason: str | None) -> str:
    return "Nothing is parked that fits." if ids or reason else "Nothing is parked."


def _what(parked: Parked) -> str:
    if parked.key is None:
        return parked.detail or ""
    kind, subject = parked.key.split("/")[1:3]
    return f"{words.event(parked.family or '', parked.key)} ({kind} {subject})"


def _whole(parked: Parked) -> str:
    element = json.dumps(parked.element, indent=2, ensure_ascii=False)
    return f"{parked.message_id}: {words.reason(parked.reason)}\n{escape(element)}"
