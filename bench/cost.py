"""Works out what events cost, from the calls that the simulator counts.

Run: python -m bench.cost. Writes bench/results/cost.json, in some minutes.
"""

import sys
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

from bench import sources
from bench.costs.count import (
    ACTION_MB,
    ASSUMED,
    ENRICHMENT_MB,
    LEVELS,
    PRICES,
    QUOTAS,
    Counted,
    Units,
    dollars,
)
from bench.events import START_MS, STEPS, Centre, Event, text
from proof.template import of_type

HAPPENINGS = 800
PER_SECOND = 10  # of them; each event is an execution of its own, so others cost the same
RATES = (10, 50)  # in an outage
OUTAGE_HOURS = (1, 6, 24)
SAMPLES = 60  # of an outage's events
LAST_S = 900  # of an outage, in which most events wait
HOUR_MS = 3_600_000
MONTH_S = 30 * 86_400
POLLERS = 5  # of a pipe that waits for events
NOW_MS = START_MS + HOUR_MS

Messages = list[tuple[str, str, int]]  # each with its event's name, its body and when it comes


def mix() -> Messages:
    """Makes events of which a fifth has an order, and messages of which a fifth are copies, which
    come soon after."""
    centre, draw = Centre(1), Random(1)  # noqa: S311 - to be repeated, not to be guessed
    messages = []
    for number in range(HAPPENINGS):
        after_ms = round(number * 1.25 * 1_000 / PER_SECOND)
        event = an_event(centre, number, START_MS + after_ms)
        messages.append((f"e{number}", text(event), after_ms))
        if number % 4 == 1:
            later_ms = after_ms + draw.randint(1, ASSUMED["apart_ms"])
            messages.append((f"e{number}", text(centre.published_again(event)), later_ms))
    return messages


def an_event(centre: Centre, number: int, at_ms: int) -> Event:
    if number % 5 == 0:
        return centre.presence(centre.id(), "AVAILABLE", at_ms)
    return centre.conversation(STEPS[number % len(STEPS)], at_ms)


def played(messages: Messages, **options: Any) -> Counted:
    tempers = dict.fromkeys((name for name, _, _ in messages), options.pop("temper", "well"))
    counted = Counted(tempers, now_ms=NOW_MS, **options)
    for name, body, after_ms in messages:
        counted.site.sends(name, body, after_ms)
    counted.site.play()
    return counted


def of_a_million() -> tuple[Units, list[str]]:
    """Returns the units of a million events, and the metrics that they emit."""
    messages = mix()
    counted = played(messages)
    total = sum(counted.units().values(), Units())
    total.update(arrived=len(messages), queueRequests=len(messages))  # EventBridge sends them
    overhead = PRICES["dynamodb"]["item_overhead_bytes"]
    total["claimBytes"] = sum(
        overhead
        + sum(len(name) + len(str(next(iter(value.values())))) for name, value in row.items())
        for row in counted.site.world.rows.values()
    )
    records = counted.site.witness.records.values()
    emitted = [r["_aws"]["CloudWatchMetrics"][0]["Metrics"] for r in records if "_aws" in r]
    metrics = {metric["Name"] for each in emitted for metric in each}
    scale = 1_000_000 / len(messages)
    return Units({name: value * scale for name, value in total.items()}), sorted(metrics)


def paths() -> dict[str, dict[str, float]]:
    """Returns what single executions cost, in dollars a million, by what they do."""
    centre = Centre(2)
    event, user = centre.conversation("acd.start", START_MS), centre.id()
    old, new = (centre.presence(user, s, START_MS + n * 5_000) for n, s in enumerate("AB"))
    again = centre.published_again(event)
    of_one = {
        "acts, no order": [(event, 0)],
        "acts, ordered": [(old, 0)],
        "acts, ordered, the state before it 30 s ago": [(old, 0), (new, 30_000)],
        "a copy of a settled event": [(event, 0), (again, 10_000)],
        "a copy of an event in progress": [(event, 0), (again, 20)],
        "stale": [(new, 0), (old, 10_000)],
        "unchanged": [(centre.snapshot(user, user, START_MS + n), n) for n in (0, 10_000)],
    }
    costs = {}
    for name, sent in of_one.items():
        counted = played([(f"e{n}", text(event), ms) for n, (event, ms) in enumerate(sent)])
        costs[name] = _dollars_of([list(counted.units().values())[-1]], arrives=True)
    failing = played([("e", text(event), 0)], temper="fails").units().values()
    costs["a look without an open breaker, with its failed request"] = _dollars_of(failing)
    return costs


def _dollars_of(units: Iterable[Units], *, arrives: bool = False) -> dict[str, float]:
    """Returns the dollars of a million such executions, on average."""
    every = list(units)
    total = sum(every, Units())
    if arrives:
        total.update(arrived=len(every), queueRequests=len(every))
    costs = {level: sum(dollars(total, level).values()) for level in LEVELS}
    return {level: round(cost * 1_000_000 / len(every), 2) for level, cost in costs.items()}


def outage(hours: float) -> tuple[dict[str, Any], dict[str, dict[str, float]]]:
    """Plays an outage for a sample of the events that come during it. How often an event is looked
    at follows from when it came, not from how many others wait.

    Returns figures for each rate, and what its looks cost.
    """
    centre, lasts_ms = Centre(3), round(hours * HOUR_MS)
    # The first open the breaker, as a second's events do at any usual rate.
    times = [n * 800 for n in range(25)] + [lasts_ms * n // SAMPLES for n in range(1, SAMPLES)]
    events = [(an_event(centre, n, START_MS + ms), ms) for n, ms in enumerate(times)]
    counted = played(
        [(f"e{n}", text(event), ms) for n, (event, ms) in enumerate(events)],
        weather=lambda now_ms: "500" if now_ms < NOW_MS + lasts_ms else "",
    )
    tapes, witness = counted.site.world.tapes or {}, counted.site.witness
    sample = {f"e{n}" for n in range(25, len(times))}
    looks = {
        name: units
        for name, units in counted.units().items()
        if witness.events[name] in sample
        and tapes[name].began_ms < NOW_MS + lasts_ms
        # A probe is one of few looks if many events wait.
        and not witness.records.get(name, {}).get("requests")
    }
    reasons = {name: witness.records.get(name, {}).get("reason") for name in looks}
    costs = {
        "put back, as the breaker is open": "BREAKER_OPEN",
        "a short look, with the breaker open": None,
    }
    last = [name for name in looks if tapes[name].began_ms >= NOW_MS + lasts_ms - LAST_S * 1_000]
    peak = sum((looks[name] for name in last), Units())
    peak["records"] = sum(reasons[name] is not None for name in last)
    # Of one event that comes each second.
    scale = lasts_ms / 1_000 / len(sample) / LAST_S
    total = sum(looks.values(), Units())
    rates = {}
    for rate in RATES:
        events_waiting = round(rate * hours * 3_600)
        rates[str(rate)] = {
            "events": events_waiting,
            "peakExecutionsPerSecond": round(peak["executions"] * scale * rate),
            "dollars": {
                level: round(sum(dollars(total, level).values()) / len(sample) * events_waiting, 2)
                for level in LEVELS
            },
            "quotas": outage_quotas(peak, scale * rate),
        }
    figures = {
        "hours": hours,
        "looksPerEvent": round(len(looks) / len(sample), 1),
        "looksOfTheFirst": sum(witness.events[name] == "e25" for name in looks),
        "rates": rates,
    }
    return figures, {
        what: _dollars_of(looks[name] for name in looks if reasons[name] == reason)
        for what, reason in costs.items()
    }


def quotas(units: Units) -> dict[str, float]:
    """Returns the events a second that each quota of us-east-1 allows, on average."""
    each = {name: value / 1_000_000 for name, value in units.items()}
    functions_s = each["enrichmentGbSeconds"] * 1024 / ENRICHMENT_MB
    functions_s += each["actionGbSeconds"] * 1024 / ACTION_MB
    return {
        "EventBridge: events to queues": QUOTAS["eventbridge_invocations"]["us-east-1"],
        "DynamoDB: writes of a table": QUOTAS["dynamodb_table_writes"]["default"]
        / each["writeUnits"],
        "CloudWatch Logs: PutLogEvents": QUOTAS["put_log_events"]["default"],
        "Pipes: executions at the same time": QUOTAS["pipe_executions"]["of_one_queue"]
        / each["seconds"],
        "Lambda: functions at the same time": QUOTAS["lambda_concurrency"]["default"] / functions_s,
        "Genesys Cloud: requests of one token": QUOTAS["genesys"]["requests_per_minute"] / 60,
    }


def backlog_s(events: int, seconds_of_one: float) -> int:
    """Returns how long the pipe takes for events that wait, if the destination keeps up."""
    quota, taken, seconds = QUOTAS["pipe_executions"], 0.0, 0
    while taken < events:
        pollers = quota["first"] + quota["more_per_minute"] * seconds / 60
        taken += min(quota["of_one_queue"], pollers) / seconds_of_one
        seconds += 1
    return seconds


def outage_quotas(peak: Mapping[str, float], per_second: float) -> dict[str, float]:
    """Returns the share of each quota that looks need at the end of an outage."""
    each = {name: value * per_second for name, value in peak.items()}
    return {
        "reads of the breaker's row": each["breakerReadUnits"]
        / QUOTAS["dynamodb_partition"]["reads"],
        "writes of a table": each["writeUnits"] / QUOTAS["dynamodb_table_writes"]["default"],
        "executions of the pipe": each["seconds"] / QUOTAS["pipe_executions"]["of_one_queue"],
        "PutLogEvents": each["records"] / QUOTAS["put_log_events"]["default"],
    }


def fixed(metrics: Iterable[str]) -> dict[str, float]:
    """Returns dollars per month without any event, but for the metrics of a healthy stack."""
    alarms = [alarm["Properties"] for alarm in of_type("AWS::CloudWatch::Alarm").values()]
    watched = sum(
        sum("MetricStat" in query for query in alarm["Metrics"]) if "Metrics" in alarm else 1
        for alarm in alarms
    )
    dashboards = len(of_type("AWS::CloudWatch::Dashboard"))
    price = PRICES["cloudwatch"]
    polls = POLLERS * MONTH_S / ASSUMED["long_poll_s"]
    return {
        f"{len(alarms)} alarms on {watched} metrics": watched * price["alarm_month"],
        "dashboard": dashboards * price["dashboard_month"],
        "idle pipe": polls * PRICES["sqs"]["requests_per_million"] / 1_000_000,
        f"metrics: {', '.join(metrics)}": len(list(metrics)) * price["metric_month"],
    }


def main() -> int:
    units, metrics = of_a_million()
    seconds = units["seconds"] / 1_000_000
    played_outages = [outage(hours) for hours in OUTAGE_HOURS]
    result = {
        "dollars": {level: dollars(units, level) for level in LEVELS},
        "paths": paths() | played_outages[0][1],
        "fixed": fixed(metrics),
        "outages": [figures for figures, _ in played_outages],
        "quotas": quotas(units),
        "backlogSeconds": {str(n): backlog_s(n, seconds) for n in (1_000, 10_000, 100_000)},
    }
    print(result)
    sources.write("cost", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
