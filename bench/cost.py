"""Works out what events cost, from the calls that the simulator counts.

Run: python -m bench.cost. Writes bench/results/cost.json, in some minutes.
"""

import json
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
from bench.events import START_MS, Centre, Event, text
from proof.template import RESOURCES

HAPPENINGS = 800  # of each mix
RATES = (10, 50)
OUTAGE_HOURS = (1, 6, 24)
SAMPLES = 60  # of an outage's events
LAST_S = 900  # of an outage, in which most events wait
HOUR_MS = 3_600_000
MONTH_S = 30 * 86_400
POLLERS = 5  # of a pipe that waits for events
NOW_MS = START_MS + HOUR_MS
STEPS = ("customer.start", "acd.start", "user.start", "user.end", "acd.end", "customer.end")

Messages = list[tuple[str, str, int]]  # each with its event's name, its body and when it comes


def mix(per_second: float) -> Messages:
    """Makes events of which a fifth has an order, and messages of which a fifth are copies, which
    come soon after."""
    centre, draw = Centre(1), Random(1)  # noqa: S311 - to be repeated, not to be guessed
    messages = []
    for number in range(HAPPENINGS):
        after_ms = round(number * 1.25 * 1_000 / per_second)
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


def of_a_million(per_second: float) -> tuple[Units, list[str]]:
    """Returns the units of a million events at a rate, and the metrics that they emit."""
    messages = mix(per_second)
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


def _dollars_of(every: Iterable[Units], *, arrives: bool = False) -> dict[str, float]:
    """Returns the dollars of a million such executions, on average."""
    units = list(every)
    total = sum(units, Units())
    if arrives:
        total.update(arrived=len(units), queueRequests=len(units))
    million = Units({name: value * 1_000_000 / len(units) for name, value in total.items()})
    return {level: round(sum(dollars(million, level).values()), 2) for level in LEVELS}


def outage(hours: float) -> tuple[dict[str, Any], dict[str, dict[str, float]]]:
    """Plays an outage for a sample of the events that come during it. How often an event is looked
    at follows from when it came, not from how many others wait.

    Returns figures per event, and what its looks cost.
    """
    centre, lasts_ms = Centre(3), round(hours * HOUR_MS)
    # The first open the breaker, as a second's events do at any usual rate.
    times = [n * 800 for n in range(25)] + [lasts_ms * n // SAMPLES for n in range(1, SAMPLES)]
    events = [(an_event(centre, n, START_MS + ms), ms) for n, ms in enumerate(times)]
    counted = played(
        [(f"e{n}", text(event), ms) for n, (event, ms) in enumerate(events)],
        weather=lambda now_ms: "500" if now_ms < NOW_MS + lasts_ms else "",
    )
    site, units = counted.site, counted.units()
    sample = {f"e{n}" for n in range(25, len(times))}
    looks = {
        name: units[name]
        for name, tape in (site.world.tapes or {}).items()
        if site.witness.events[name] in sample
        and tape.began_ms < NOW_MS + lasts_ms
        # A probe is one of few looks if many events wait.
        and not site.witness.records.get(name, {}).get("requests")
    }
    tapes, records = site.world.tapes or {}, site.witness.records
    short = [each for name, each in looks.items() if name not in records]
    first = [looks[n] for n in looks if records.get(n, {}).get("reason") == "BREAKER_OPEN"]
    last = [name for name in looks if tapes[name].began_ms >= NOW_MS + lasts_ms - LAST_S * 1_000]
    peak = sum((looks[name] for name in last), Units())
    peak["records"] = sum(name in records for name in last)
    # Of one event that comes each second.
    scale = lasts_ms / 1_000 / len(sample) / LAST_S
    figures = {
        "hours": hours,
        "looksPerEvent": round(len(looks) / len(sample), 1),
        "looksOfTheFirst": sum(site.witness.events[name] == "e25" for name in looks),
        "shortShare": round(len(short) / len(looks), 3),
        "dollarsPerEvent": {
            level: sum(dollars(sum(looks.values(), Units()), level).values()) / len(sample)
            for level in LEVELS
        },
        "peak": {name: value * scale for name, value in peak.items()},
        "actedWithinMinutes": round(
            (max(act.at_ms for act in site.witness.done) - NOW_MS - lasts_ms) / 60_000, 1
        ),
        "parked": len(site.world.dead_letters),
    }
    return figures, {
        "put back, as the breaker is open": _dollars_of(first),
        "a short look, with the breaker open": _dollars_of(short),
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
    properties = [resource["Properties"] for resource in RESOURCES.values()
                  if resource["Type"] == "AWS::CloudWatch::Alarm"]  # fmt: skip
    watched = sum(
        sum("MetricStat" in query for query in alarm["Metrics"]) if "Metrics" in alarm else 1
        for alarm in properties
    )
    dashboards = sum(r["Type"] == "AWS::CloudWatch::Dashboard" for r in RESOURCES.values())
    price = PRICES["cloudwatch"]
    polls = POLLERS * MONTH_S / ASSUMED["long_poll_s"]
    return {
        f"{len(properties)} alarms on {watched} metrics": watched * price["alarm_month"],
        "dashboard": dashboards * price["dashboard_month"],
        "idle pipe": polls * PRICES["sqs"]["requests_per_million"] / 1_000_000,
        f"metrics: {', '.join(metrics)}": len(list(metrics)) * price["metric_month"],
    }


def main() -> int:
    rates, result = {}, dict[str, Any]()
    for per_second in RATES:
        units, metrics = of_a_million(per_second)
        rates[str(per_second)] = {
            "units": {name: round(value) for name, value in units.items()},
            "dollars": {level: dollars(units, level) for level in LEVELS},
        }
        each_s = units["seconds"] / 1_000_000
        waited = {str(events): backlog_s(events, each_s) for events in (1_000, 10_000, 100_000)}
        result |= {"quotas": quotas(units), "fixed": fixed(metrics), "backlogSeconds": waited}
    costs, outages = paths(), []
    for hours in OUTAGE_HOURS:
        figures, looks = outage(hours)
        figures["rates"] = {
            str(per_second): {
                "events": round(per_second * hours * 3_600),
                "looks": round(figures["looksPerEvent"] * per_second * hours * 3_600),
                "peakExecutionsPerSecond": round(figures["peak"]["executions"] * per_second),
                "dollars": {
                    level: round(each * per_second * hours * 3_600, 2)
                    for level, each in figures["dollarsPerEvent"].items()
                },
                "quotas": outage_quotas(figures["peak"], per_second),
            }
            for per_second in RATES
        }
        outages.append(figures)
        print(json.dumps(figures), flush=True)
        if hours == OUTAGE_HOURS[0]:
            costs |= looks
    result |= {"rates": rates, "paths": costs, "outages": outages}
    print(json.dumps({name: result[name] for name in ("quotas", "fixed", "paths")}, indent=2))
    sources.write("cost", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
