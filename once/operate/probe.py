"""Sends one event of the caller through the real queue to the real destination."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.markup import escape

from once.errors import OnceError
from once.keys import Key
from once.lines import Line, parse, read_element, read_lines
from once.operate import log, pace
from once.operate import phrases as words
from once.operate.checks import Check, Checked, Probe
from once.operate.claims import Status, read_subject
from once.operate.command import Operation
from once.operate.explain import say_wait, view_deliveries
from once.operate.stack import Stack
from once.operate.story import Event, tell
from once.outcomes import Outcome
from once.records import OutcomeLog
from once.sending import send_to_queue
from once.waiter import Waiter

_PATIENCE_SECONDS = 120


def probe_destination(at: Operation, path: Path, yes: bool) -> Checked:
    """Shows the event, asks, sends it, and waits for the end of its first delivery."""
    lines = read_lines(path)
    if len(lines) != 1:
        raise OnceError(
            f"{path} holds {len(lines)} texts. Give a file with the one event that shall be sent."
        )
    (line,) = lines
    now = {"SentTimestamp": str(log.now_ms())}
    element = read_element({"messageId": "-", "body": line.text, "attributes": now})
    key = Key.of_row(**element["key"])
    refuse_if_nothing_is_sent(at.stack)
    question = "Send it? The destination acts on it as on any event."
    at.confirm(question, yes, _say_facts(at.stack, line, key))
    since_ms = log.now_ms()
    (sent,) = send_to_queue(at.stack.client, at.stack.outputs, [line])
    group, pattern = at.stack.outputs["OutcomeLogGroupName"], f'{{ $.messageId = "{sent.id}" }}'
    waiter = Waiter(OutcomeLog(at.stack.client("logs"), group, since_ms, pattern))
    with at.errors.status("waiting for the destination …"):
        waiter.wait(lambda: waiter.last_of(sent.id) is not None, _PATIENCE_SECONDS)
    claims, _ = read_subject(at.stack, key.subject)
    records = waiter.records.get(sent.id, [])
    events = tell(records, claims, log.now_ms(), say_wait(at.stack, records))
    return _judge(sent.id, key, events)


def refuse_if_nothing_is_sent(stack: Stack) -> None:
    if stack.only_observes:
        raise OnceError("This stack has no destination: its ActionTarget is none.")
    pace.refuse_stopped_pipe(stack)


def _say_facts(stack: Stack, line: Line, key: Key) -> Iterator[str]:
    yield from map(escape, json.dumps(parse(line.text), indent=2, ensure_ascii=False).split("\n"))
    yield escape(f"{words.describe_event(key)}, of {key.subject.kind} {key.subject.id}")
    now_ms = log.now_ms()
    breaker = pace.read_breaker(stack, now_ms)
    if breaker.state is not pace.State.CLOSED:
        yield f"[yellow]{escape(words.capitalise(breaker.text(now_ms)))}.[/]"
        if breaker.state is pace.State.OPEN:
            yield "[yellow]Until then it waits on the queue, and is then sent like any other.[/]"
    claims, _ = read_subject(stack, key.subject)
    settled = (one for one in claims if one.key == key and one.status is Status.DONE)
    for claim in settled:
        yield (
            f"[yellow]It was settled before ({claim.outcome}), so a copy is skipped without a "
            f"request. To open it: once forget {escape(str(key))}[/]"
        )


def _judge(message_id: str, key: Key, events: Iterable[Event]) -> Checked:
    """Says what the destination answered: it works if it acted."""
    probe = Probe(message_id=message_id, event=words.describe_event(key))
    own = ((event, one) for event in events for one in event.messages)
    works, said = False, f"no outcome was recorded within {_PATIENCE_SECONDS} s"
    for event, message in own:
        last = message.deliveries[-1]
        probe.outcome, probe.reason = last.outcome, last.reason
        probe.requests, probe.status = last.requests or 0, last.status
        probe.duration_ms = last.duration_ms
        probe.returns_at_ms = last.due_at_ms if last.outcome is Outcome.RETRY else None
        probe.idempotency_keys = event.idempotency_keys if probe.requests else []
        works = last.reason == "ACTED"
        said = event.verdict
        if probe.returns_at_ms is None:
            said = "; ".join(text for _, text in view_deliveries(message, every=False))
    for sent in probe.idempotency_keys:
        said += "" if sent in said else f"; Idempotency-Key {sent}"
    said += "" if works else f"; more: once explain {message_id}"
    return Checked(
        run=None, checks=[Check(name="destination", works=works, said=said)], probe=probe
    )
