"""Turns a report into sentences, a plan, and parameters to deploy with.

A table says where copies come from: what was seen, who makes them, and what to do about it.
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from once.audit.report import AuditReport, Plan
from once.audit.tally import Tally
from once.model import words
from once.model.reasons import Outcome

_MONTH_MS = 30 * 86_400_000
_SHORTEST_MS = 60_000  # a plan from less would be a guess
_GENESYS_REQUESTS_PER_MINUTE = 300  # of one token, unless Genesys Cloud set another limit
_MOST_TOPICS = 20
_MOST_FACTS = 3


class Origin(NamedTuple):
    what: str
    who: str
    do: str


_ORIGINS = {
    "envelope": Origin(
        "the same envelope id",
        "EventBridge or a queue delivered one event again, or two rules send it to one target",
        "For copies with the same envelope id: check if two rules match the same events and have "
        "the same target. Otherwise this is at-least-once delivery, which no setting ends: only a "
        "claim on the event skips them.",
    ),
    "published": Origin(
        "another envelope id, the same integration",
        "Genesys Cloud published the event again",
        "Events that Genesys Cloud publishes again have other ids and times in the envelope, so a "
        "key must not contain these. Make it from the event's own content, subject and time.",
    ),
    "integration": Origin(
        "another integration of the same organisation",
        "two EventBridge integrations in Genesys Cloud send the same topics",
        "If two integrations send the same topics: remove the topics from one of them in Genesys "
        "Cloud, or let the rule match one source only. Until then a claim skips the copies.",
    ),
    "custom": Origin(
        "the shape of a custom event",
        "your own publisher",
        "Let your own publisher give each event an id that stays the same when it sends the event "
        "again.",
    ),
    "replay": Origin(
        "an archive's replay",
        "an EventBridge archive was replayed",
        "An archive's replay needs nothing: settled events are skipped. To act on one again on "
        "purpose: `once forget`.",
    ),
    "queue": Origin(
        "the same queue message twice",
        "SQS delivered one message again",
        "That SQS delivers a message again needs nothing: the claim knows the message.",
    ),
    "unknown": Origin(
        "no envelope id to compare",
        "unknown: the capture has events without their envelope",
        "Capture whole events, not only their detail (docs/audit.md), to see who makes the copies.",
    ),
}


def add_advice(report: AuditReport, tally: Tally) -> None:
    """Adds the sentences and the plan to a report."""
    for kind in report.copy_kinds:
        kind.what, kind.who = _ORIGINS[kind.kind].what, _ORIGINS[kind.kind].who
    report.conclusions = [_verdict(report), *_details(report)]
    report.advice = [*_advise(report, tally)]
    report.plan = _plan(report, tally)


def percent(part: int, whole: int) -> str:
    share = 100 * part / whole
    return f"{share:.0f} %" if 10 <= share <= 90 else f"{share:.1f} %"


def duration(ms: int) -> str:
    """Formats a distance, with milliseconds below one second."""
    return f"{ms} ms" if ms < 1_000 else words.format_duration(ms)


def rough(count: int) -> str:
    """Formats a guess, to three digits."""
    return f"{round(count, 3 - len(str(count))):,}"


def _verdict(report: AuditReport) -> str:
    if report.copies:
        share = percent(report.copies, report.received)
        text = f"{report.copies:,} of {report.received:,} messages are copies ({share})"
    else:
        text = f"None of {report.received:,} messages is a copy"
    unreadable = sum(reason.count for reason in report.broken)
    others = {
        "unchanged": report.unchanged,
        "stale": report.outcomes.get(Outcome.STALE, 0),
        "ignored by a route": report.outcomes.get(Outcome.IGNORED, 0),
        "unreadable": unreadable,
    }
    rest = [f"{count:,} {name}" for name, count in others.items() if count]
    text += f"; {', '.join(rest)}" if rest else ""
    events = "1 is an event" if report.acted == 1 else f"{report.acted:,} are events"
    verdict = f"{text}. {events} to act on."
    if report.late:
        messages = "message" if report.late == 1 else "messages"
        longest = duration(report.longest_late_ms)
        verdict += f" {report.late:,} {messages} arrived up to {longest} after a newer event of the"
        verdict += " same subject; that is stale only if the order matters."
    return verdict


def _details(report: AuditReport) -> Iterator[str]:
    for kind in report.copy_kinds:
        most = ", in the same millisecond as the first"
        if kind.longest_ms:
            most = f", at most {duration(kind.longest_ms)} after the first"
        share = percent(kind.count, report.copies)
        yield f"{share} of the copies have {kind.what}{most}: {kind.who}."
    if distances := report.distances:
        median_ms = distances.median_ms
        half = f"within {duration(median_ms)} of" if median_ms else "in the same millisecond as"
        longest = duration(distances.longest_ms)
        rest = f"99 % within {duration(distances.p99_ms)}, the last after {longest}"
        if distances.p99_ms == distances.longest_ms:
            rest = f"all within {longest}"
        yield f"Half of the copies arrive {half} the first, {rest}."
    for facts in report.facts[:_MOST_FACTS]:
        change = f"acts {facts.acts_without:,} → {facts.acts_with:,}"
        named = "The facts of its route" if facts.is_in_use else "Facts"
        alone = next(iter(facts.changed_alone), "")
        noise = f"; {facts.changed_alone[alone]:,} differ only in {alone}" if alone else ""
        yield f"{named} for {facts.family}: {change} ({', '.join(facts.facts)}){noise}."
    for passed in report.passed[:_MOST_FACTS]:
        every = '; order = "every" would have acted' if passed.every_would_act else ""
        stale = "state is" if passed.count == 1 else "states are"
        example = passed.examples[0]
        yield f"{passed.count:,} {passed.family} {stale} stale, e.g. {example}{every}."


def _advise(report: AuditReport, tally: Tally) -> Iterator[str]:
    """Yields what to do about it."""
    yield from (_ORIGINS[kind.kind].do for kind in report.copy_kinds)
    for facts in report.facts[:1]:
        if not facts.is_in_use:
            paths = ", ".join(f'"{path}"' for path in facts.facts)
            yield (
                f"If only the state of {facts.family} matters to you, name it in its route: "
                f"facts = [{paths}]. Then a change in another field is not acted on."
            )
    if any(passed.every_would_act for passed in report.passed):
        yield (
            "If each change must be acted on, even if a newer state has passed it, add "
            'order = "every" to the route.'
        )
    if only := report.only_copies:
        names = ", ".join(sorted({topic.source for topic in only}))
        topics = "1 topic" if len(only) == 1 else f"{len(only)} topics"
        yield (
            f"Everything that the source {names} sent on {topics} was a copy: if you remove these "
            "topics there, you lose nothing."
        )
    undated = sum(window.count for window in report.windows if window.window_ms > 1_500)
    if undated:
        yield (
            f"{undated:,} events have no time at all, so the same state within a minute counts "
            "once. Let their publisher add the time at which they happened."
        )
    elif report.windows:
        yield (
            f"{sum(window.count for window in report.windows):,} events are windowed: nothing "
            "tells a copy from a repeat, so two equal events count as one within the window."
        )
    if tally.custom and any(topic.startswith("v2.") for topic in tally.topics):
        yield (
            f"The capture has {tally.custom:,} custom events. The template's rule takes one "
            "SourcePrefix, by default that of Genesys Cloud: send the others to the queue by a "
            "rule of your own."
        )
    if report.notes:
        yield (
            f"{sum(note.count for note in report.notes):,} events have a note. If a field is "
            "always missing, report its name and family to the project."
        )
    if report.broken:
        yield "Look at the messages without an event: a stack would park them."


def _plan(report: AuditReport, tally: Tally) -> Plan | None:
    """Returns None if the capture is too short to say anything about a month."""
    span_ms = tally.ended_ms - tally.began_ms
    if span_ms < _SHORTEST_MS:
        return None
    busiest = max(tally.acting_minutes.values(), default=0)
    values = {"ActionTarget": "none"}
    because = {"ActionTarget": "First only observe: events are claimed, and nothing is sent."}
    # In a capture with custom events too, either would keep them from the rule.
    topics = [] if tally.custom else sorted(tally.topics)
    if 0 < len(topics) <= _MOST_TOPICS and "*" not in "".join(topics):
        values["DetailTypes"] = ",".join(topics)
        because["DetailTypes"] = "The Genesys topics of this capture. Take out what must not act."
    busy = {source for source, _, is_new in tally.brought if is_new}
    idle = {source for source, _, is_new in tally.brought if not is_new} - busy
    if len(busy) == 1 and idle and not tally.custom:
        (kept,) = busy
        is_shown = "*" not in kept and " " not in kept  # a number after the name is the report's
        name = kept if is_shown else "YOUR-INTEGRATION"
        values["SourcePrefix"] = f"aws.partner/genesys.com/cloud/YOUR-ORGANISATION/{name}"
        hint = "" if is_shown else f" {kept} is the one to keep; --with-ids shows its name."
        because["SourcePrefix"] = f"{', '.join(sorted(idle))} brings nothing new.{hint}"
    if busiest > _GENESYS_REQUESTS_PER_MINUTE:
        values["MaxActionsPerMinute"] = str(_GENESYS_REQUESTS_PER_MINUTE)
        because["MaxActionsPerMinute"] = (
            f"The busiest minute needs {busiest:,} requests, and Genesys Cloud accepts 300 per "
            "minute and token unless it set another limit for you."
        )
    return Plan(
        events_per_month=math.ceil(report.received * _MONTH_MS / span_ms),
        acts_per_minute=busiest,
        parameters=values,
        because=because,
    )
