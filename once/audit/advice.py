"""Turns what was counted into sentences, a plan, and parameters to deploy with."""

import math
from collections.abc import Iterator, Sequence

from once.audit.origins import ORIGINS
from once.audit.report import Candidate, CopyKind, Distances, OnlyCopies, Plan
from once.audit.tally import Tally
from once.outcomes import Outcome

_MONTH_MS = 30 * 86_400_000
_SHORTEST_MS = 60_000  # a plan from less would be a guess
_DAY_MS = 86_400_000
_GENESYS_REQUESTS_PER_MINUTE = 300  # of one token, unless Genesys Cloud set another limit
_MOST_TOPICS = 20
_MOST_CANDIDATES = 3


def percent(part: int, whole: int) -> str:
    """Formats a share, never rounded to nothing or to all."""
    if not whole or not part:
        return "0 %"
    if part == whole:
        return "100 %"
    share = 100 * part / whole
    if share < 0.1:
        return "under 0.1 %"
    if share > 99.9:
        return "over 99.9 %"
    return f"{share:.1f} %" if share < 10 or share > 90 else f"{share:.0f} %"


def duration(ms: int) -> str:
    """Formats a distance in the unit in which people think of it."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 120_000:
        return f"{ms / 1_000:.3g} s"
    for unit, size, part in (("min", 60_000, "s"), ("h", 3_600_000, "min")):
        whole, rest = divmod(round(ms * 60 / size), 60)
        if whole < 120:
            return f"{whole} {unit} {rest} {part}" if rest and whole < 10 else f"{whole} {unit}"
    return f"{ms / _DAY_MS:.3g} days"


def rough(count: int) -> str:
    """Formats a guess, to three digits."""
    return f"{round(count, 3 - len(str(count))):,}"


def conclude(
    tally: Tally,
    kinds: Sequence[CopyKind],
    distances: Distances | None,
    candidates: Sequence[Candidate],
) -> list[str]:
    """Returns what was found in sentences. The first one is the verdict."""
    return [_verdict(tally), *_details(kinds, distances, candidates)]


def _verdict(tally: Tally) -> str:
    if not tally.received:
        return "The capture holds no record."
    outcomes = tally.outcomes
    if tally.copies:
        share = percent(tally.copies, tally.received)
        found = f"{tally.copies:,} of {tally.received:,} records are copies ({share})"
    else:
        found = f"None of {tally.received:,} records is a copy"
    unreadable = sum(one.count for one in tally.broken.values())
    others = {
        "unchanged": tally.unchanged,
        "stale": outcomes[Outcome.STALE],
        "ignored by a route": outcomes[Outcome.IGNORED],
        "unreadable": unreadable,
        "parked": outcomes[Outcome.PARKED] - unreadable,
    }
    said = [f"{count:,} {name}" for name, count in others.items() if count]
    if said:
        found += f"; {', '.join(said)}"
    events = "1 is an event" if tally.acted == 1 else f"{tally.acted:,} are events"
    verdict = f"{found}. {events} to act on."
    if late := tally.late.count:
        records = "record is" if late == 1 else "records are"
        verdict += f" {late:,} {records} late, by up to {duration(tally.longest_late_ms)}."
    return verdict


def _details(
    kinds: Sequence[CopyKind], distances: Distances | None, candidates: Sequence[Candidate]
) -> Iterator[str]:
    copies = sum(kind.count for kind in kinds)
    for kind in kinds:
        most = ", in the same millisecond as the first" if kind.longest_ms == 0 else ""
        if kind.longest_ms:
            most = f", at most {duration(kind.longest_ms)} after the first"
        yield f"{percent(kind.count, copies)} of the copies have {kind.what}{most}: {kind.who}."
    if distances:
        median_ms = distances.median_ms
        half = f"within {duration(median_ms)} of" if median_ms else "in the same millisecond as"
        longest = duration(distances.longest_ms)
        rest = f"99 % within {duration(distances.p99_ms)}, the last after {longest}"
        if distances.p99_ms == distances.longest_ms:
            rest = f"all within {longest}"
        yield f"Half of the copies arrive {half} the first, {rest}."
    for one in candidates[:_MOST_CANDIDATES]:
        yield (
            f"{one.count:,} states of {one.family} differ from the one before only in "
            f"{' and '.join(one.fields)}."
        )


def advise(
    tally: Tally,
    kinds: Sequence[CopyKind],
    only: list[OnlyCopies],
    candidates: Sequence[Candidate],
) -> list[str]:
    """Returns what to do about it."""
    found = [ORIGINS[kind.kind].do for kind in kinds]
    if candidates:
        found.append(
            "If a change in one of these fields means nothing to you, list the field in "
            "functions/enrichment/ignored.toml: then such a change is not acted on."
        )
    if only:
        names = ", ".join(sorted({one.source for one in only}))
        topics = "1 topic" if len(only) == 1 else f"{len(only)} topics"
        found.append(
            f"Everything that {names} sent on {topics} was a copy: if you remove "
            "these topics there, you lose nothing."
        )
    coarse = sum(names.total() for ms, names in tally.windows.items() if ms > 1_500)
    if coarse:
        found.append(
            f"{coarse:,} events have no time at all, so the same state within a minute counts "
            "once. Let their publisher add the time at which they happened."
        )
    elif tally.windows:
        found.append(
            f"{sum(names.total() for names in tally.windows.values()):,} events are "
            "windowed: nothing tells a copy from a repeat, so two equal ones count as one within "
            "the window. To count both, act on a topic with a time."
        )
    if tally.custom and any(topic.startswith("v2.") for topic in tally.topics):
        found.append(
            f"{tally.custom:,} of these are custom events. The template's rule takes one "
            "SourcePrefix, by default that of Genesys Cloud: send the others to the queue by a "
            "rule of your own."
        )
    if tally.notes:
        found.append(
            f"{sum(one.count for one in tally.notes.values()):,} keys hold the whole "
            "body. If a field is always missing, report its name and family to the project."
        )
    if tally.broken:
        found.append("Look at the records without an event: a stack would park them.")
    return found


def find_only_copies(tally: Tally) -> list[OnlyCopies]:
    """Returns topics of a source that brought nothing but copies, most events first."""
    found = [
        OnlyCopies(source=source, topic=topic, received=count)
        for (source, topic, is_new), count in tally.brought.items()
        if source and not is_new and not tally.brought[source, topic, True]
    ]
    return sorted(found, key=lambda one: (-one.received, one.source, one.topic))


def plan(tally: Tally, distances: Distances | None) -> Plan | None:
    """Returns None if the capture is too short to say anything about a month."""
    span_ms = tally.ended_ms - tally.began_ms
    if span_ms < _SHORTEST_MS:
        return None
    per_month = math.ceil(tally.received * _MONTH_MS / span_ms)
    parameters, because = _parameters(tally, distances)
    return Plan(
        events_per_month=per_month,
        peak_per_minute=max(tally.minutes.values()),
        acts_per_minute=max(tally.acting_minutes.values(), default=0),
        parameters=parameters,
        because=because,
    )


def _parameters(tally: Tally, distances: Distances | None) -> tuple[dict[str, str], dict[str, str]]:
    values = {"ActionTarget": "none"}
    because = {"ActionTarget": "First only observe: events are claimed, and nothing is sent."}
    # In a capture with custom events too, either would keep them from the rule.
    topics = [] if tally.custom else sorted(tally.topics)
    if 0 < len(topics) <= _MOST_TOPICS and "*" not in "".join(topics):
        values["DetailTypes"] = ",".join(topics)
        because["DetailTypes"] = "The Genesys topics of this capture. Take out what must not act."
    idle = {source for source, _, is_new in tally.brought if not is_new}
    busy = {source for source, _, is_new in tally.brought if is_new}
    idle -= busy
    if len(busy) == 1 and idle and not tally.custom:
        (kept,) = busy
        is_shown = "*" not in kept and " " not in kept  # a number after the name is the report's
        name = kept if is_shown else "YOUR-INTEGRATION"
        values["SourcePrefix"] = f"aws.partner/genesys.com/cloud/YOUR-ORGANISATION/{name}"
        because["SourcePrefix"] = f"{', '.join(sorted(idle))} brings nothing new." + (
            "" if is_shown else f" {kept} is the one to keep; --with-ids shows its name."
        )
    busiest = max(tally.acting_minutes.values(), default=0)
    if busiest > _GENESYS_REQUESTS_PER_MINUTE:
        values["MaxActionsPerMinute"] = str(_GENESYS_REQUESTS_PER_MINUTE)
        because["MaxActionsPerMinute"] = (
            f"The busiest minute needs {busiest:,} requests, and Genesys Cloud accepts 300 per "
            "minute and token unless it set another limit for you."
        )
    longest_ms = distances.longest_ms if distances else 0
    days = math.ceil(2 * longest_ms / _DAY_MS)
    if days > tally.claim_days:
        values["ClaimDays"] = str(days)
        because["ClaimDays"] = f"A copy arrived {duration(longest_ms)} after the first."
    return values, because
