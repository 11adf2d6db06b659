"""From what was counted to sentences: who duplicates, how far apart, what to do, and a plan."""

import math

from once.audit.origins import ORIGINS
from once.audit.report import OnlyCopies, Plan, Quota
from once.audit.rivals import RULES
from once.audit.tally import Counts, Examples
from once.errors import OnceError
from once.outcomes import Outcome
from once.plan.capacity import Load, limits, quotas
from once.plan.cost import Measured, Traffic, monthly, per_million, prices

_MONTH_MS = 30 * 86_400_000
_SHORTEST_MS = 60_000  # a plan from less would be a guess
_DAY_MS = 86_400_000
_GENESYS_CALLS_PER_MINUTE = 300  # of one token, unless Genesys Cloud set another limit
_MOST_TOPICS = 20
_CLAIM_DAYS = 30  # the default
_REGION = "eu-central-1"


def percent(part: int, whole: int) -> str:
    """A share as people say it, never rounded to nothing or to all."""
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
    """A distance in the unit in which people think of it."""
    if ms < 1_000:
        return f"{ms} ms"
    if ms < 120_000:
        return f"{ms / 1_000:.3g} s"
    for unit, size, part in (("min", 60_000, "s"), ("h", 3_600_000, "min")):
        whole, rest = divmod(round(ms * 60 / size), 60)
        if whole < 120:
            return f"{whole} {unit} {rest} {part}" if rest and whole < 10 else f"{whole} {unit}"
    return f"{ms / _DAY_MS:.3g} days"


def conclusions(counts: Counts) -> list[str]:
    received, copies = counts.received, counts.copies
    if not received:
        return ["The capture holds no record."]
    acted = received - copies - counts.outcomes[Outcome.STALE] - counts.outcomes[Outcome.PARKED]
    found = [
        f"{copies:,} of {received:,} records are copies ({percent(copies, received)}); "
        f"{max(0, acted):,} are events to act on."
    ]
    for kind, examples in _by_count(counts):
        origin, apart = ORIGINS[kind], counts.apart[kind]
        most = f", at most {duration(apart.longest_ms)} after the first" if len(apart) else ""
        found.append(
            f"{percent(examples.count, copies)} of the copies have {origin.what}{most}: "
            f"{origin.who}."
        )
    if len(counts.distances):
        median, almost_all = counts.distances.quantile(0.5), counts.distances.quantile(0.99)
        half = f"within {duration(median)} of" if median else "in the same millisecond as"
        found.append(
            f"Half of the copies come {half} the first, 99 % within {duration(almost_all)}; the "
            f"last one took {duration(counts.distances.longest_ms)}."
        )
    if counts.late:
        found.append(
            f"{counts.late.total():,} events came after a newer one of their subject, by up to "
            f"{duration(counts.longest_late_ms)}; {counts.outcomes[Outcome.STALE]:,} of them were "
            "states that nobody may act on any more."
        )
    if counts.backwards:
        found.append(
            f"{counts.backwards:,} events arrived before one that was read from another file: "
            "late and stale events and the mistakes of other ways may come of the order of the "
            "files only. Capture into one file (docs/audit.md) to be sure."
        )
    best = _best_rival(counts)
    if best:
        found.append(best)
    return found


def _best_rival(counts: Counts) -> str | None:
    wrong = {
        rule.title: rival.too_often.count
        + rival.wrongly_skipped.count
        + rival.overwrote
        + rival.unreadable
        for rule, rival in zip(RULES, counts.rivals, strict=True)
        if rival.acted
    }
    if not wrong or not counts.copies:
        return None
    title = min(wrong, key=lambda one: wrong[one])
    if not wrong[title]:
        return f"Of the usual ways to skip copies, this one would have made no mistake: {title}."
    return (
        "None of the usual ways to skip copies is right about this stream. The best of them, "
        f"{title}, is wrong {wrong[title]:,} times."
    )


def advice(counts: Counts, only: list[OnlyCopies]) -> list[str]:
    found = [ORIGINS[kind].do for kind, _ in _by_count(counts)]
    if only:
        names = ", ".join(sorted({one.source for one in only}))
        found.append(
            f"{names} brought nothing new on {len(only)} "
            f"{'topic' if len(only) == 1 else 'topics'}: without them the rest stays complete."
        )
    coarse = sum(sum(names.values()) for ms, names in counts.windows.items() if ms > 1_500)
    if coarse:
        found.append(
            f"{coarse:,} events tell no time at all, so the same state within a minute counts "
            "once. Add the time at which it happened to them."
        )
    elif counts.windows:
        found.append(
            f"{sum(sum(names.values()) for names in counts.windows.values()):,} events have "
            "neither a time nor an id of their own: a state that leaves and returns within their "
            "window counts once. Where that matters, act on a topic that tells the time."
        )
    if counts.custom and any(topic.startswith("v2.") for topic in counts.topics):
        found.append(
            f"{counts.custom:,} of these are custom events. The template's rule takes one "
            "SourcePrefix, by default that of Genesys Cloud: let a rule of your own send the "
            "others to the queue."
        )
    if counts.fallbacks:
        found.append(
            f"{sum(one.count for one in counts.fallbacks.values()):,} keys fell back. Where a "
            "field is always missing, tell the project, with the shape report (--shape)."
        )
    if counts.broken:
        found.append("Look at the records that hold no event: deployed, they would be parked.")
    return found


def _by_count(counts: Counts) -> list[tuple[str, Examples]]:
    return sorted(counts.kinds.items(), key=lambda item: -item[1].count)


def only_copies(counts: Counts) -> list[OnlyCopies]:
    """Topics of a source from which no event of its own came, most events first."""
    found = [
        OnlyCopies(source=source, topic=topic, received=acted[False])
        for (source, topic), acted in counts.brought.items()
        if not acted[True] and source
    ]
    return sorted(found, key=lambda one: (-one.received, one.source, one.topic))


def plan(counts: Counts) -> Plan | None:
    """None where the capture is too short to say anything about a month."""
    span_ms = counts.ended_ms - counts.began_ms
    if span_ms < _SHORTEST_MS:
        return None
    per_month = math.ceil(counts.received * _MONTH_MS / span_ms)
    traffic = Traffic(per_month, copies=counts.copies / counts.received)
    cost = rate = None
    found: list[Quota] = []
    try:
        measured, price = Measured.read(), prices()
        costs = monthly(traffic, measured, price)
        cost, rate = sum(costs.values()), per_million(costs, per_month)
        load, quota = Load.of(traffic, measured, price), quotas()
        peak = max(counts.minutes.most / 60, counts.received * 1000 / span_ms)
        found = [
            Quota(
                name=one.name,
                events_per_second=round(one.events_per_second, 1),
                enough=one.events_per_second >= peak,
                ask=one.ask,
            )
            for one in limits(load, quota, _REGION, None, limited=False)
        ]
    except OnceError:
        pass  # what was measured comes with a clone of the project only
    parameters, because = _parameters(counts)
    return Plan(
        events_per_month=per_month,
        cost_per_month=None if cost is None else round(cost, 2),
        per_million=None if rate is None else round(rate, 2),
        peak_per_second=counts.seconds.most,
        peak_per_minute=counts.minutes.most,
        acts_per_minute=counts.acting_minutes.most,
        quotas=found,
        parameters=parameters,
        because=because,
    )


def _parameters(counts: Counts) -> tuple[dict[str, str], dict[str, str]]:
    values = {"ActionTarget": "none"}
    because = {"ActionTarget": "First only observe: events are claimed, nobody is called."}
    # Of a capture with custom events too, either would let them no longer through the rule.
    topics = [] if counts.custom else sorted(counts.topics)
    if 0 < len(topics) <= _MOST_TOPICS and "*" not in "".join(topics):
        values["DetailTypes"] = ",".join(topics)
        because["DetailTypes"] = "The Genesys topics of this capture. Take out what must not act."
    sources = {source for source, _ in counts.brought}
    idle = sources - {source for (source, _), acted in counts.brought.items() if acted[True]}
    if len(sources - idle) == 1 and idle and not counts.custom:
        (kept,) = sources - idle
        is_shown = "*" not in kept and " " not in kept  # a number after the name is the report's
        name = kept if is_shown else "YOUR-INTEGRATION"
        values["SourcePrefix"] = f"aws.partner/genesys.com/cloud/YOUR-ORGANISATION/{name}"
        because["SourcePrefix"] = f"{', '.join(sorted(idle))} brings nothing new." + (
            "" if is_shown else f" {kept} is the one to keep; --with-ids shows its name."
        )
    if counts.acting_minutes.most > _GENESYS_CALLS_PER_MINUTE:
        values["MaxActionsPerMinute"] = str(_GENESYS_CALLS_PER_MINUTE)
        because["MaxActionsPerMinute"] = (
            f"The busiest minute asks for {counts.acting_minutes.most:,} calls, and Genesys Cloud "
            "takes 300 a minute per token unless it set another limit for you."
        )
    days = math.ceil(2 * counts.distances.longest_ms / _DAY_MS)
    if days > _CLAIM_DAYS:
        values["ClaimDays"] = str(days)
        because["ClaimDays"] = (
            f"A copy came {duration(counts.distances.longest_ms)} after the first."
        )
    return values, because
