"""What a million events cost, here and elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bench import charts, recorded
from bench.machine_log import compared
from bench.numbers.tables import table
from bench.rival_costs import GROUPS, RIVALS, as_standard, grouped, rival
from once.plan import cost
from once.plan.cost import LogClass, LogLevel, Measured, Traffic

MILLION = 1_000_000
USUAL_RATE = 10
RATES = (1, 10, 100)
BACKLOG = "a backlog"
# What this project set out to reach, as docs/design.md has it: setting, then one a batch and ten.
GOALS = {
    "`ERROR`": ({"log_level": LogLevel.ERROR}, 6.5, 4.0),
    "`ALL`": ({"log_level": LogLevel.ALL}, 15.0, 8.0),
    "`ALL`, `INFREQUENT_ACCESS`": (
        {"log_level": LogLevel.ALL, "log_class": LogClass.INFREQUENT_ACCESS},
        10.0,
        6.0,
    ),
}
FIXED_GOAL = 8.0
APART_MS = 60_000  # so that every copy meets a settled claim


class Costs:
    def __init__(self) -> None:
        self.measured, self.price = Measured.read(), cost.prices()
        self.traffic = Traffic(MILLION, per_second=USUAL_RATE, log_level=LogLevel.ERROR)

    def monthly(self, **change: Any) -> dict[str, float]:
        return cost.monthly(replace(self.traffic, **change), self.measured, self.price)

    def of(self, **change: Any) -> float:
        return cost.per_million(self.monthly(**change), MILLION)

    def fixed(self) -> float:
        return sum(self.monthly()[name] for name in cost.FIXED)

    def most_fixed(self) -> float:
        return self.fixed() + cost.troubled(self.measured, self.price)

    def line(self) -> str:
        all_levels = {"log_level": LogLevel.ALL}
        comes = cost.flow_of(self.traffic, self.measured, self.price)
        window = cost.flow_of(replace(self.traffic, window_s=1), self.measured, self.price)
        return (
            f"A million received events cost **${self.of():.2f}** at `LogLevel=ERROR`, and "
            f"**${self.of(**all_levels):.2f}** at `ALL`, which the console needs to show single "
            f"executions (**${self.of(**all_levels, log_class=LogClass.INFREQUENT_ACCESS):.2f}** "
            "with `ExecutionLogClass=INFREQUENT_ACCESS`), at ten a second, a fifth of them copies "
            f"within {self.traffic.apart_ms:.0f} ms. On top come ${self.fixed():.2f} a month for "
            "alarms, metrics, dashboard and an idle pipe, however many events come "
            f"(${self.most_fixed():.2f} at most: a metric of a trouble is paid for in the hours in "
            f"which there is one). `BatchWindowSeconds=1` makes it ${self.of(window_s=1):.2f} and "
            f"${self.of(**all_levels, window_s=1):.2f}: the pipe then hands over "
            f"{window.batch:.1f} events at a time in place of {comes.batch:.1f}, and they wait, "
            f"{window.queued_s:.1f} s here, up to 20 s where little comes. A backlog, ten at a "
            f"time, is worked off for ${self.of(backlog=True):.2f} and "
            f"${self.of(**all_levels, backlog=True):.2f}.\n"
        )

    def goals(self) -> str:
        def missed(value: float, goal: float) -> str:
            over = value / goal - 1
            return f"{value:.2f} of {goal:.2f}" + (f", {over:.0%} over" if over > 0 else "")

        before = self.before()
        rows = [
            [
                title,
                f"{before.of(**change):.2f}",
                missed(self.of(**change), one),
                f"{before.of(**change, backlog=True):.2f}",
                missed(self.of(**change, backlog=True), ten),
            ]
            for title, (change, one, ten) in GOALS.items()
        ]
        rows.append(["fixed, a month", "", missed(self.fixed(), FIXED_GOAL), "", ""])
        head = ["US dollars a million", "one a batch, before", "of the goal"]
        return table([*head, "ten a batch, before", "of the goal"], rows)

    def why(self) -> str:
        """Of what is over the goals: which part is new in the price, and which nobody can leave."""
        every = {"log_level": LogLevel.ALL}
        error, full = self.monthly(), self.monthly(**every)
        logs = [sum(c[n] for n in ("Logs: kept", "Logs: queries")) for c in (error, full)]
        waits = self.of() - self.of(apart_ms=APART_MS)
        looks = self.of(**every) - self.of(**every, apart_ms=APART_MS)
        parts, watching = self.measured.parts, self.price["cloudwatch"]
        way_out = error["the calls' way out"]
        return (
            "Two things are in the price that were not when the goals were set: the way out of "
            f"the calls ({way_out:.2f}), and logs kept and searched ({logs[0]:.2f} at `ERROR`, "
            f"{logs[1]:.2f} at `ALL`). They explain less than what is over. A copy that meets its "
            "first in work waits a second of Express time and looks at the claim again: that is "
            f"{waits:.2f} and {looks:.2f} more than if copies came later. What is left of `ERROR` "
            "is mostly requests, which any way through "
            f"these services makes: {self.requests():.2f} for one event at a time through "
            "EventBridge, SQS, Pipes, two functions and one execution, and "
            f"{error['DynamoDB: claims']:.2f} for the claims. At `ALL` the log of executions is "
            f"{full['Logs: executions (estimate)']:.2f}: AWS decides how long its lines are, and "
            f"an event goes through {parts['batch']['states'] + parts['unique']['states']:.0f} "
            f"states. What is fixed are {self.measured.alarm_metrics} metrics on "
            f"alarms ({self.measured.alarm_metrics * watching['alarm_month']:.2f}), "
            f"{self.measured.metrics_well} metrics of our own "
            f"({self.measured.metrics_well * watching['metric_month']:.2f}), none of them by "
            f"family, the dashboard ({watching['dashboard_month']:.2f}) and the polls of an idle "
            f"pipe ({error['waiting for events']:.2f}).\n"
        )

    def requests(self) -> float:
        """Dollars for what each service asks for being asked, whatever it does then."""
        price = self.price
        comes = cost.flow_of(self.traffic, self.measured, price)
        volume = cost.Volume.of(self.traffic, self.measured, comes)
        calls = volume.of_all("actionCalls")
        return (
            MILLION * price["eventbridge"]["events_per_million"]
            + (MILLION + 2 * volume.batches) * price["sqs"]["requests_per_million"]
            + volume.batches * price["pipes"]["requests_per_million"]
            + (volume.batches + calls) * price["lambda"]["requests_per_million"]
            + volume.batches * price["step_functions"]["express_requests_per_million"]
        ) / MILLION

    def before(self) -> "Costs":
        """With the former machine, whose copies of events in work were not counted apart."""
        parts = recorded.read("cost")["before"]["parts"]
        former = Costs()
        former.measured = replace(self.measured, parts={**parts, "held": parts["copy"]})
        return former

    def items(self) -> str:
        every = {"log_level": LogLevel.ALL}
        settings: dict[str, dict[str, Any]] = {
            "`ERROR`": {},
            "`ALL`": every,
            "`ALL`, window 1 s": every | {"window_s": 1},
            "`ERROR`, limited": {"limited": True},
            f"`ERROR`, {BACKLOG}": {"backlog": True},
            f"`ALL`, {BACKLOG}": every | {"backlog": True},
        }
        columns = [self.monthly(**change) for change in settings.values()]
        names = [name for name in columns[0] if name not in cost.FIXED]
        rows = [[name, *(f"{column[name]:.2f}" for column in columns)] for name in names]
        rows.append(["**together**", *(f"**{cost.per_million(c, MILLION):.2f}**" for c in columns)])
        rows += [[f"{name}, a month", *(f"{c[name]:.2f}" for c in columns)] for name in cost.FIXED]
        return table(["US dollars a million", *settings], rows)

    def batches(self) -> str:
        """What a rate makes of batches and of copies, without and with a window."""
        rows = []
        for rate in (*RATES, 1_000):
            for window_s in (0, 1, 5):
                change: dict[str, Any] = {"per_second": rate, "window_s": window_s}
                traffic = replace(self.traffic, **change)
                comes = cost.flow_of(traffic, self.measured, self.price)
                rows.append(
                    [
                        f"{rate:,}",
                        f"{window_s} s" if window_s else "none",
                        f"{comes.batch:.1f}",
                        f"{comes.queued_s:.1f} s",
                        f"{comes.collapsed:.0%}",
                        f"{comes.held:.0%}",
                        f"{comes.settled:.0%}",
                        f"{self.of(**change):.2f}",
                        f"{self.of(**change, log_level=LogLevel.ALL):.2f}",
                    ]
                )
        head = ["events a second", "window", "a batch", "waits", "copies in their batch"]
        return table([*head, "in work", "settled", "`ERROR`", "`ALL`"], rows)

    def rivals(self) -> str:
        cases: dict[str, dict[str, Any]] = {
            **{f"{rate} a second": {"per_second": rate} for rate in RATES},
            BACKLOG: {"backlog": True},
        }

        def row(title: str, priced: Callable[[Traffic], Mapping[str, float]]) -> list[str]:
            cells = []
            for change in cases.values():
                traffic = replace(self.traffic, **change)
                cells.append(f"{cost.per_million(priced(traffic), MILLION):.2f}")
            return [title, *cells]

        def ours(**change: Any) -> Callable[[Traffic], Mapping[str, float]]:
            return lambda t: cost.monthly(replace(t, **change), self.measured, self.price)

        rows = [row(f"this project, `{level}`", ours(log_level=level)) for level in LogLevel]
        rows.append(row("this project, `ERROR`, window 1 s", ours(window_s=1)))
        rows += [
            row(
                f"{asked.title}{f' ({asked.beside})' if asked.beside else ''}",
                lambda t, asked=asked: rival(asked, t, self.measured, self.price),  # type: ignore[misc]
            )
            for asked in RIVALS
        ]
        rows.append(
            row(
                "this workflow as Standard, one event at a time",
                lambda t: as_standard(t, self.measured, self.price),
            )
        )
        return table(["US dollars a million", *cases], rows)

    def chart(self) -> str:
        def rows(**change: Any) -> dict[str, dict[str, float]]:
            traffic = replace(self.traffic, **change)
            ours = {
                f"this project, {level}": cost.monthly(
                    replace(traffic, log_level=level), self.measured, self.price
                )
                for level in (LogLevel.ERROR, LogLevel.ALL)
            }
            theirs = {
                asked.title: rival(asked, traffic, self.measured, self.price) for asked in RIVALS
            }
            return {title: grouped(costs, MILLION) for title, costs in (ours | theirs).items()}

        return charts.bars(
            "US dollars a million events: 20 % copies within 50 ms, 200 ms a call",
            {
                f"{USUAL_RATE} a second, batches of one": rows(),
                "in a backlog, batches of ten": rows(backlog=True),
            },
            dict(
                zip(
                    GROUPS,
                    (charts.GREY, charts.BLUE, charts.GREEN, charts.PURPLE, charts.ORANGE),
                    strict=True,
                )
            ),
            panel_width=380,
            form="{:,.2f}",
        )


def machine_log() -> str:
    """What an event asks for, with its share of the batch, before the redesign and after it."""

    def said(value: float | None) -> str:
        return "" if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"

    rows = [
        [f"{event}: {words}", *map(said, values)]
        for event, words, values in compared()
        if any(value and value > 0.05 for value in values)
    ]
    return table(
        ["", "one a batch, before", "one a batch", "ten a batch, before", "ten a batch"], rows
    )
