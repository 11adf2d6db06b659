"""Every scenario of waiting: what must hold, and what a run measured. The quick ones are tests."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from . import destination as to
from .machine import MAX_TRIES, Faults
from .measure import most_within, share
from .simulation import (
    DAY,
    HOUR,
    IN_FLIGHT_CAP,
    MINUTE,
    SECOND,
    Arrivals,
    Run,
    every,
    good,
    poison,
)

Measured = dict[str, float | int | str]
_BY_A_HUNDRED = IN_FLIGHT_CAP // 100


@dataclass(frozen=True)
class Judged:
    """The measures of a scenario, and which of its bounds held."""

    measured: Measured
    holds: dict[str, bool]


@dataclass(frozen=True)
class Scenario:
    """One row, or a part of one, of the table that waiting is held to."""

    group: str
    name: str
    judge: Callable[[], Judged]
    quick: bool = False


# Healthy, and over the limit


def healthy(per_second: float) -> Judged:
    run = Run([Arrivals(per_second, min(600, 5_000 / per_second) * SECOND)])
    run.until(HOUR, settled=True)
    measures = run.measures
    called = [float(ms - event.occurred_ms) for ms, event in measures.acts]
    return Judged(
        {
            "events": len(run.events),
            "p50 to the request s": share(called, 0.5) / SECOND,
            "p99 to the request s": share(called, 0.99) / SECOND,
            "p99 s": share(run.delays_ms(), 0.99) / SECOND,
            "invocations of pacing": measures.pacing_calls,
        },
        {
            "pacing not invoked": measures.pacing_calls == 0,
            "nothing returned": not measures.returned,
        },
    )


def within_limit(per_minute: int, per_second: float) -> Judged:
    """Sends fewer events than the limit allows: each batch still takes its tokens from pacing."""
    run = Run([Arrivals(per_second, 20 * MINUTE)], per_minute=per_minute)
    run.until(3 * HOUR, settled=True)
    called = [float(ms - event.occurred_ms) for ms, event in run.measures.acts]
    most = _in_a_minute(run)
    return Judged(
        {
            "events": len(run.events),
            "p50 to the request s": share(called, 0.5) / SECOND,
            "p90 to the request s": share(called, 0.9) / SECOND,
            "p99 to the request s": share(called, 0.99) / SECOND,
            "invocations of pacing": run.measures.pacing_calls,
            "most in 60 s": most,
        },
        {
            "limit kept": most <= per_minute,
            "one invocation of pacing per event": run.measures.pacing_calls == len(run.events),
        },
    )


def _in_a_minute(run: Run) -> int:
    """Most arrivals in any 60 s, each request up to a second on its way."""
    ways = [round(1_000 * run.rng.random()) for _ in run.measures.calls_ms]
    arrivals = sorted(ms + way for ms, way in zip(run.measures.calls_ms, ways, strict=True))
    return most_within(array("q", arrivals), MINUTE)


def _waiting_hours(run: Run) -> float:
    return sum(e.settled_ms - e.occurred_ms for e in run.events if e.outcome) / HOUR


def limited(
    per_minute: int,
    *,
    times: float = 0,
    for_ms: float = 0,
    backlog: int = 0,
    cap: int = IN_FLIGHT_CAP,
) -> Judged:
    """Sends more than the limit allows, for a time or as one backlog."""
    arrivals = [Arrivals(times * per_minute / 60, for_ms)] if times else []
    run = Run(arrivals, per_minute=per_minute, backlog=backlog, in_flight_cap=cap)
    run.until(30 * DAY, settled=True)
    calls = run.measures.calls_ms
    used = len(calls) / (per_minute * calls[-1] / MINUTE)
    most, least = _in_a_minute(run), 0.8 if per_minute < 30 else 0.9
    return Judged(
        {
            "events": len(run.events),
            "most in 60 s": most,
            "limit": per_minute,
            "used": used,
            "hours": calls[-1] / HOUR,
            "deliveries per event": run.measures.rounds / len(run.events),
            "deliveries per waiting event and hour": run.measures.rounds / _waiting_hours(run),
            "most in flight": run.queue.most_in_flight,
        },
        {
            "limit kept": most <= per_minute,
            "limit used": used >= least,
            "no dead letter": not run.queue.dead,
            "no try counted": not any(event.tries for event in run.events),
            "all acted on": run.reasons() == {"ACTED": len(run.events)},
        },
    )


def limited_after_an_outage(per_minute: int, *, waiting: int) -> Judged:
    """So many events wait when the destination is healthy again; each environment logs in."""
    per_second = waiting / (HOUR / SECOND)
    run = Run([Arrivals(per_second, HOUR)], to.down((0, HOUR)), per_minute=per_minute)
    run.until(30 * DAY, settled=True)
    calls = run.measures.calls_ms
    acts = [ms for ms, _ in run.measures.acts]
    most = _in_a_minute(run)
    return Judged(
        {
            "events": len(run.events),
            "most in 60 s": most,
            "limit": per_minute,
            "environments and logins": run.measures.most_running,
            "first act after s": (acts[0] - HOUR) / SECOND,
            "hours": (calls[-1] - HOUR) / HOUR,
        },
        {
            "limit kept": most <= per_minute,
            "none given up": not any(event.reason == "GAVE_UP" for event in run.events),
            "all acted on": run.reasons() == {"ACTED": len(run.events)},
        },
    )


# Down


def _wrong_order(run: Run, from_ms: float, to_ms: float) -> tuple[int, int]:
    """Counts pairs sent 30 minutes apart in that time, and those that acted in the wrong order."""
    events = [event for event in run.events if from_ms <= event.occurred_ms < to_ms]
    sent = [event.occurred_ms for event in events]
    pairs = wrong = 0
    for event in events:
        at = bisect_left(sent, event.occurred_ms + 30 * MINUTE)
        if at < len(events):
            pairs += 1
            wrong += events[at].settled_ms < event.settled_ms
    return wrong, pairs


def down(per_second: float, for_ms: float, cap: int = IN_FLIGHT_CAP) -> Judged:
    """Down for so long, in the middle of even traffic."""
    begins = 10 * MINUTE if per_second > 0.5 else 2 * HOUR
    back = begins + for_ms
    run = Run(
        [Arrivals(per_second, back + 10 * MINUTE if per_second > 0.5 else back + HOUR)],
        to.down((begins, back)),
        in_flight_cap=cap,
    )
    run.until(back + 3 * DAY, settled=True)
    opened = run.measures.opened_ms
    while_open = [ms for ms in run.measures.calls_ms if opened and opened[0] < ms < back]
    # Batches that asked before it opened may still send then.
    steady = array("q", [ms for ms in while_open if ms > opened[0] + 10 * SECOND])
    first = min((ms - back for ms, _ in run.measures.acts if ms >= back), default=0)
    late = [e for e in run.events if e.occurred_ms <= back < e.settled_ms]
    over = max((e.settled_ms - back - 1.5 * (back - e.occurred_ms) for e in late), default=0)
    wrong, pairs = _wrong_order(run, begins, back)
    within = MINUTE if for_ms <= 10 * MINUTE else 5 * MINUTE
    holds = {
        "none given up": run.reasons() == {"ACTED": len(run.events)},
        "one request in 20 s": most_within(steady, 20 * SECOND) <= 1,
        "below 1,000 receives": run.queue.most_receives < 1_000,
        "no event waits too long": over <= 45 * MINUTE,
    }
    if opened:
        holds["first act"] = first <= within
    # Where more wait than may be in flight, SQS hands out the rest as it likes.
    out_of_place = 0.3 if run.queue.most_in_flight >= cap else 0.1
    holds["order"] = wrong <= (out_of_place if for_ms > HOUR else 0) * pairs
    return Judged(
        {
            "events": len(run.events),
            "opened": len(opened),
            "requests in 20 s": most_within(steady, 20 * SECOND),
            "first act after s": first / SECOND,
            "wait beyond 1.5 times its age, min": over / MINUTE,
            "pairs in wrong order": f"{wrong} of {pairs}",
            "most receives": run.queue.most_receives,
            "most in flight": run.queue.most_in_flight,
        },
        holds,
    )


def slow(per_second: float, part: float, at_once: int, *, quick_failures: bool) -> Judged:
    """Responds after 7 s; a share of the events always fails, as slowly or immediately."""

    def answers(event: Any, now_ms: int, rng: Any) -> to.Reply:
        if quick_failures and event.kind == "poison":
            return to.Reply("failed", to.quick(rng))
        return to.slow(7 * SECOND)(event, now_ms, rng)

    run = Run(
        [Arrivals(per_second, 5 * MINUTE, kind=poison(part), at_once=at_once)],
        answers,
        batch_size=at_once,
    ).until(5 * MINUTE)
    opened, closed = run.measures.opened_ms, run.measures.closed_ms
    closed = [*closed, 5 * MINUTE][: len(opened)]
    open_ms = sum(end - begin for begin, end in zip(opened, closed, strict=True))
    return Judged(
        {
            "events": len(run.events),
            "opened": len(opened),
            "open for s": open_ms / SECOND,
            "functions at once": run.measures.most_running,
        },
        # If by chance none arrives for 2 s, none succeeds for 9 s. The next success closes it.
        {"open for 1 % of the time at most": open_ms <= 5 * MINUTE / 100},
    )


def hanging(per_second: float, batch_size: int, *, own_lambda: bool = False) -> Judged:
    """No call is answered for five minutes."""
    begins = 3 * MINUTE
    ends = begins + 5 * MINUTE
    hanging_ms = to.OWN_CALL_MS if own_lambda else to.CALL_MS
    run = Run(
        [Arrivals(per_second, ends + 2 * MINUTE)],
        to.down((begins, ends), hanging_ms=hanging_ms),
        batch_size=batch_size,
        own_lambda=own_lambda,
    ).until(DAY, settled=True)
    calls_ms = run.measures.calls_ms
    opened_ms = run.measures.opened_ms[0] - run.measures.failures_ms[0]
    acts_again_ms = min(ms for ms, _ in run.measures.acts if ms >= ends) - ends
    most = run.measures.most_running
    bound = 150 if per_second <= 13 else 450
    holds = {"all acted on": run.reasons() == {"ACTED": len(run.events)}}
    if not own_lambda:
        # 20 keys need 20 calls that began 8 s ago: at 13 a second, and with five pollers that first
        # have to become more, those take longer than 10 s.
        within = 12 if per_second <= 13 else 10
        holds |= {
            "functions at once": most <= bound,
            f"open within {within} s": opened_ms <= within * SECOND,
        }
    return Judged(
        {
            "functions at once": most,
            "open after s": opened_ms / SECOND,
            "requests begun": bisect_left(calls_ms, ends) - bisect_left(calls_ms, begins),
            "acting again after s": acts_again_ms / SECOND,
        },
        holds,
    )


def flapping() -> Judged:
    spans = [(at * 3 * MINUTE, at * 3 * MINUTE + MINUTE) for at in range(1, 20)]
    run = Run([Arrivals(10, HOUR)], to.down(*spans)).until(DAY, settled=True)
    up = 1 - len(spans) / 60
    return Judged(
        {
            "opened": len(run.measures.opened_ms),
            "acted in the hour": run.measures.acts_between(0, HOUR) / len(run.events),
            "of it up": up,
            "most tries": max(event.tries for event in run.events),
        },
        {"none given up": run.reasons() == {"ACTED": len(run.events)}},
    )


def half_of_all_calls_fail() -> Judged:
    run = Run([Arrivals(10, HOUR)], to.failing_at_random(0.5)).until(DAY, settled=True)
    return Judged(
        {
            "acted in the hour": run.measures.acts_between(0, HOUR) / len(run.events),
            "p99 s": share(run.delays_ms(), 0.99) / SECOND,
            "opened": len(run.measures.opened_ms),
            "most tries": max(event.tries for event in run.events),
        },
        {"none given up": run.reasons() == {"ACTED": len(run.events)}},
    )


# Events that fail for good


def poisoned(per_second: float, part: float, for_ms: float) -> Judged:
    """So many fail for good; good ones go on arriving after."""
    mixed = Arrivals(per_second, for_ms, kind=poison(part))
    # The last bad one is done after some 7 hours, beside whom others act.
    after = Arrivals(min(per_second, 0.05), for_ms + 16 * HOUR, from_ms=for_ms)
    run = Run([mixed, after]).until(for_ms + 15 * HOUR)
    without = Run([replace(mixed, kind=good)]).until(for_ms + HOUR)
    bad = run.of_kind("poison")
    p99, p99_without = (share(r.delays_ms(), 0.99) / SECOND for r in (run, without))
    return Judged(
        {
            "events": len(run.events),
            "bad": len(bad),
            "p99 of good events s": p99,
            "without s": p99_without,
            "opened": len(run.measures.opened_ms),
            "longest until parked, h": max((e.settled_ms - e.occurred_ms for e in bad), default=0)
            / HOUR,
            "most requests for a bad event": max((event.calls for event in bad), default=0),
        },
        {
            "good events at most 30 s later": p99 <= p99_without + 30,
            "each bad event given up": all(event.reason == "GAVE_UP" for event in bad),
            "requests bounded": all(event.calls <= 3 * MAX_TRIES for event in bad),
            "stays closed": not run.measures.opened_ms,
        },
    )


def one_bad(good_per_hour: float) -> Judged:
    """One failing event, alone or beside a few good ones."""

    first = Arrivals(1, 5 * SECOND, kind=lambda number, _rng: "good" if number else "poison")
    others = [Arrivals(good_per_hour / 3_600, 10.5 * DAY)] if good_per_hour else []
    run = Run([first, *others]).until(11 * DAY)
    (bad,) = run.of_kind("poison")
    waited = "WAITED_TOO_LONG" if not good_per_hour else "GAVE_UP"
    return Judged(
        {
            "requests": bad.calls,
            "parked after days": (bad.settled_ms - bad.occurred_ms) / DAY,
            "tries": bad.tries,
            "reason": bad.reason or "waiting",
        },
        {
            "parked": bad.reason == waited,
            "requests bounded": bad.calls <= (1_000 if not good_per_hour else 2 * MAX_TRIES + 100),
            "good events acted on": all(e.reason == "ACTED" for e in run.of_kind("good")[:-5]),
        },
    )


def limited_and_poisoned(per_minute: int, part: float) -> Judged:
    mixed = Arrivals(10 * per_minute / 60, 5 * MINUTE, kind=poison(part))
    after = Arrivals(per_minute / 60 / 4, 16 * HOUR, from_ms=5 * MINUTE)
    run = Run([mixed, after], per_minute=per_minute).until(16 * HOUR)
    bad = run.of_kind("poison")
    backlog_ends = max(e.settled_ms for e in run.of_kind("good") if e.occurred_ms <= 5 * MINUTE)
    calls = [ms for ms in run.measures.calls_ms if ms <= backlog_ends]
    used = len(calls) / (per_minute * backlog_ends / MINUTE)
    by_good = run.measures.acts_between(0, backlog_ends) / len(calls)
    return Judged(
        {
            "bad": len(bad),
            "given up": sum(event.reason == "GAVE_UP" for event in bad),
            "used while it lasts": used,
            "of it by good events": by_good,
            "most in 60 s": _in_a_minute(run),
            "opened": len(run.measures.opened_ms),
        },
        {
            "poison given up": all(event.reason == "GAVE_UP" for event in bad),
            "limit kept": _in_a_minute(run) <= per_minute,
            "limit used": used >= 0.9,
            "good events acted on": all(
                e.reason == "ACTED" for e in run.of_kind("good") if e.occurred_ms < 15 * HOUR
            ),
        },
    )


# Refused, throttled, wrongly set up


def rate_limited(retry_after_seconds: float | None) -> Judged:
    """More than the destination takes in a minute, and it says so; no limit is set."""
    run = Run([Arrivals(10, 10 * MINUTE)], to.rate_limiting(300, retry_after_seconds))
    run.until(DAY, settled=True)
    refused, calls = run.measures.refused_ms, run.measures.calls_ms
    pause_ms = (30 if retry_after_seconds is None else retry_after_seconds) * SECOND
    # A batch that asked before the 429 may still send its requests.
    during = sum(
        bisect_left(calls, ms + pause_ms) - bisect_left(calls, ms + 2 * SECOND) for ms in refused
    )
    return Judged(
        {
            "events": len(run.events),
            "acted": run.measures.results["acted"],
            "refused": len(refused),
            "requests in a pause, after 2 s": during,
            "all acted after min": max(e.settled_ms for e in run.events) / MINUTE,
        },
        {
            "no try counted": not any(event.tries for event in run.events),
            "all acted on": run.reasons() == {"ACTED": len(run.events)},
            "Retry-After obeyed": not during,
        },
    )


def throttled() -> Judged:
    """Lets Lambda run two functions at the same time, half of what is needed for ten minutes."""
    run = Run([Arrivals(18, 10 * MINUTE)])
    run.machine.destination = to.throttled_above(2, lambda: run.machine.running)
    run.until(DAY, settled=True)
    return _rounds(run, max(e.settled_ms for e in run.events) - 10 * MINUTE)


def wrong_credentials() -> Judged:
    """A fault of the set-up for two hours."""
    begins, ends = 10 * MINUTE, 10 * MINUTE + 2 * HOUR
    run = Run(
        [Arrivals(0.2, ends + 10 * MINUTE)], to.down((begins, ends), result="not authorised")
    ).until(DAY, settled=True)
    late = max(e.settled_ms for e in run.events if e.occurred_ms <= ends) - ends
    judged = _rounds(run, late)
    return replace(judged, holds=judged.holds | {"soon after the fix": late <= 20 * MINUTE})


def _rounds(run: Run, late_ms: float) -> Judged:
    most = max(event.rounds_first_hour for event in run.events)
    return Judged(
        {
            "most deliveries in the first hour": most,
            "most deliveries": max(event.rounds for event in run.events),
            "the last acted after min": late_ms / MINUTE,
        },
        {
            "deliveries bounded": most <= 30,
            "no try counted": not any(event.tries for event in run.events),
            "all acted on": run.reasons() == {"ACTED": len(run.events)},
        },
    )


# Out of reach


def claims_unanswered(for_ms: float) -> Judged:
    """A role or a key that the table refuses: no claim is answered for so long."""
    run = Run([Arrivals(1 / 3_600, for_ms)], faults=Faults(claims_unanswered_until_ms=for_ms))
    run.until(for_ms + DAY, settled=True)
    late = max(e.settled_ms for e in run.events) - for_ms
    return Judged(
        {
            "events": len(run.events),
            "most receives": run.queue.most_receives,
            "the last acted after min": late / MINUTE,
        },
        {
            "no dead letter": not run.queue.dead,
            "all acted on": run.reasons() == {"ACTED": len(run.events)},
            "soon after the fix": late <= 45 * MINUTE,
        },
    )


def never(kind: str, faults: Faults) -> Judged:
    """Nobody repairs it: what can neither act nor be parked ends where a person finds it."""
    down = to.down((0, 30 * DAY))
    run = Run([Arrivals(1 / 3_600, DAY, kind=every(kind))], down, faults=faults).until(15 * DAY)
    ages = [((m.dead_ms or 0) - m.sent_ms) / DAY for m in run.queue.dead]
    return Judged(
        {
            "events": len(run.events),
            "dead after days": f"{min(ages, default=0):.1f} to {max(ages, default=0):.1f}",
            "deleted unseen": len(run.queue.expired),
        },
        {
            "all in the dead letters": len(ages) == len(run.events),
            "not before ten days": min(ages, default=0) > 10,
            "days are left": max(ages, default=0) < 11.5,
        },
    )


# Copies, followers, faults of pacing itself


def copies_and_followers() -> Judged:
    """A fifth has a copy, half follow another of their subject, and some fail for good."""
    run = Run(
        [Arrivals(10, 20 * MINUTE, kind=poison(0.05)), Arrivals(0.1, 20 * HOUR)],
        copies=0.2,
        same_subject=0.5,
    ).until(19 * HOUR)
    bad = {event.subject for event in run.of_kind("poison")}
    follow = [e for e in run.of_kind("good") if e.subject in bad and e.reason == "ACTED"]
    others = [e for e in run.of_kind("good") if e.subject not in bad and e.reason == "ACTED"]

    def p99(events: Sequence[Any]) -> float:
        return share([e.settled_ms - e.occurred_ms for e in events], 0.99) / SECOND

    return Judged(
        {
            "copies": run.copies_sent,
            "p99 of followers of a bad event s": p99(follow),
            "p99 of others s": p99(others),
            "acted twice": sum(event.acts > 1 for event in run.events),
        },
        {
            "none acted on twice": all(event.acts <= 1 for event in run.events),
            "bad events given up": all(e.reason == "GAVE_UP" for e in run.of_kind("poison")),
            "followers not delayed": p99(follow) <= p99(others) + 60,
            "all settled": run.queue.messages <= 5,
        },
    )


def faults(per_minute: int) -> Judged:
    """Pacing crashes, stalls, loses answers and steps; batches crash; return times are refused."""
    run = Run(
        [Arrivals(5, 20 * MINUTE, kind=poison(0.02)), Arrivals(0.1, 20 * HOUR)],
        to.down((5 * MINUTE, 10 * MINUTE)),
        per_minute=per_minute,
        copies=0.1,
        faults=Faults(0.05, 0.05, 0.02, 0.05, 0.01, 0.05),
    ).until(19 * HOUR)
    unsettled = [e for e in run.events if e.outcome is None and e.occurred_ms < 18 * HOUR]
    most = _in_a_minute(run)
    holds = {
        "nothing lost": not unsettled and not run.queue.dead,
        # A crash between the act and its mark is the one double that cannot be ruled out.
        "nothing repeated": sum(e.acts > 1 for e in run.events) <= run.measures.crashes,
        "good events acted on": all(
            e.reason == "ACTED" for e in run.of_kind("good") if e.occurred_ms < 18 * HOUR
        ),
    }
    if per_minute:
        holds["limit kept"] = most <= per_minute
    return Judged(
        {
            "events": len(run.events),
            "failures of pacing": run.measures.pacing_failed,
            "batches crashed": run.measures.crashes,
            "most in 60 s": most,
            "not settled": len(unsettled),
        },
        holds,
    )


def _scenarios() -> list[Scenario]:
    found: list[Scenario] = []

    def add(group: str, name: str, judge: Callable[[], Judged], *, quick: bool = True) -> None:
        found.append(Scenario(group, name, judge, quick))

    for rate in (0.4, 10, 100, 1_000):
        add("healthy", f"{rate:g} events/s", partial(healthy, rate))
    for rate in (0.4, 2, 4):
        add(
            "within a limit of 300 per minute",
            f"{rate:g} events/s",
            partial(within_limit, 300, rate),
        )
    for limit in (10, 20, 60, 300, 1_200):
        add(
            "ten times the limit for 5 minutes",
            f"limit {limit:,} per minute",
            partial(limited, limit, times=10, for_ms=5 * MINUTE),
            quick=limit <= 60,
        )
    group = "more than the limit for hours"
    add(
        group,
        "1.2 times 300 for 6 hours",
        partial(limited, 300, times=1.2, for_ms=6 * HOUR),
        quick=False,
    )
    add(
        group,
        "200,000 at once, 300, 1:10",
        partial(limited, 30, backlog=20_000, cap=IN_FLIGHT_CAP // 10),
        quick=False,
    )
    add(
        group,
        "50,000 after an outage of 1 h, 300",
        partial(limited_after_an_outage, 300, waiting=50_000),
        quick=False,
    )
    add(group, "2,000 at once, 60, 1:100", partial(limited, 60, backlog=2_000, cap=_BY_A_HUNDRED))
    for words, lasted in (
        ("4 min", 4 * MINUTE),
        ("1 h", HOUR),
        ("24 h", DAY),
        ("9 days", 9 * DAY),
    ):
        for rate, often in ((1 / 3_600, "1/h"), (1 / 60, "1/min"), (10, "10/s")):
            scaled = rate == 10 and lasted > HOUR
            add(
                f"down {words}",
                f"{often}{', 1:100' if scaled else ''}",
                partial(
                    down,
                    rate / 100 if scaled else rate,
                    lasted,
                    _BY_A_HUNDRED if scaled else IN_FLIGHT_CAP,
                ),
                quick=lasted <= 4 * MINUTE or (lasted <= DAY and rate < 1),
            )
    for rate in (20, 50):
        for part in (0.1, 0.5):
            for at_once in (1, 10):
                for quickly in (False, True):
                    add(
                        "healthy but slow",
                        f"{rate}/s, {part:.0%} fail {'at once' if quickly else 'as slowly'}, "
                        f"by {at_once}",
                        partial(slow, rate, part, at_once, quick_failures=quickly),
                        quick=rate == 20 and part == 0.1,
                    )
    for own in (False, True):
        for rate in (13, 50):
            for size in (1, 10):
                add(
                    "hanging",
                    f"{rate}/s, batches of up to {size}{', own Lambda' if own else ''}",
                    partial(hanging, rate, size, own_lambda=own),
                    quick=rate == 13,
                )
    add("flapping", "1 of 3 minutes down", flapping)
    add("flapping", "half of all requests fail", half_of_all_calls_fail)
    for part in (0.001, 0.05, 0.5):
        add("poison", f"{part:.1%}, 0.4/s", partial(poisoned, 0.4, part, 2 * HOUR))
        add(
            "poison",
            f"{part:.1%}, 10/s",
            partial(poisoned, 10, part, 20 * MINUTE),
            quick=False,
        )
    add("one failing event", "alone", partial(one_bad, 0))
    add("one failing event", "beside a good one an hour", partial(one_bad, 1))
    add("limit and poison", "300, 5 %", partial(limited_and_poisoned, 300, 0.05), quick=False)
    add("limit and poison", "60, 5 %", partial(limited_and_poisoned, 60, 0.05))
    for asked in (5, 60, None):
        words = f"Retry-After {asked}" if asked else "no Retry-After"
        add("429 without a limit", words, partial(rate_limited, asked))
    add("throttled or not authorised", "Lambda throttled", throttled)
    add("throttled or not authorised", "credentials wrong for 2 hours", wrong_credentials)
    add("out of reach", "claims unanswered for 4 days", partial(claims_unanswered, 4 * DAY))
    add("out of reach", "claims unanswered for 9 days", partial(claims_unanswered, 9 * DAY))
    for kind, words, missing in (
        ("good", "claims are never possible", Faults(claims_unanswered_until_ms=30 * DAY)),
        ("good", "nothing can ever be parked", Faults(parking_fails_until_ms=30 * DAY)),
        ("large", "large bodies are never stored", Faults(overflow_fails_until_ms=30 * DAY)),
    ):
        add("out of reach", words, partial(never, kind, missing))
    add("copies and followers", "with 5 % poison", copies_and_followers)
    add("faults of pacing itself", "no limit", partial(faults, 0))
    add("faults of pacing itself", "limit 600", partial(faults, 600))
    return found


SCENARIOS = _scenarios()
