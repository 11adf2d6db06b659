"""What a million events cost, here and elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bench import charts
from bench.machine_log import compared
from bench.numbers.tables import table
from bench.rival_costs import GROUPS, RIVALS, as_standard, grouped, rival
from once.plan import cost
from once.plan.cost import LogLevel, Measured, Traffic

MILLION = 1_000_000
TARGET_DOLLARS = 3.0


class Costs:
    def __init__(self) -> None:
        self.measured, self.price = Measured.read(), cost.prices()
        self.traffic = Traffic(MILLION, log_level=LogLevel.ERROR)

    def of(self, **change: Any) -> float:
        return cost.per_million(
            cost.monthly(replace(self.traffic, **change), self.measured, self.price), MILLION
        )

    def line(self) -> str:
        costs = cost.monthly(self.traffic, self.measured, self.price)
        error, every = round(self.of(), 2), self.of(log_level=LogLevel.ALL)
        calls = round(costs["Lambda: the calls"], 2)
        kept = round(costs["DynamoDB: claims kept"], 2)
        outcomes, functions = costs["Logs: outcomes"], costs["Logs: functions"]
        fixed = sum(costs[name] for name in cost.FIXED)
        return (
            f"A million received events, a fifth of them copies, in batches of ten: "
            f"**${error:.2f}** at `LogLevel=ERROR`, **${every:.2f}** at `ALL`, which the console "
            f"needs to show single executions. Of that, ${calls:.2f} are the calls' own function, "
            f"which waits 200 ms for each answer, and ${kept:.2f} the claims, kept for 30 days. "
            f"Our aim was ${TARGET_DOLLARS:.2f} without these two; it is "
            f"${error - calls - kept:.2f}, since every event's outcome is logged "
            f"(${outcomes:.2f}), and every call (${functions:.2f}). Alarms, metrics, dashboard and "
            f"an idle pipe are ${fixed:.2f} a month, whatever comes.\n"
        )

    def items(self) -> str:
        settings = {
            "`ERROR`": self.traffic,
            "`ALL`": replace(self.traffic, log_level=LogLevel.ALL),
            "`ERROR`, one a batch": replace(self.traffic, batch_size=1),
            "`ERROR`, limited": replace(self.traffic, limited=True),
        }
        columns = [cost.monthly(t, self.measured, self.price) for t in settings.values()]
        names = [name for name in columns[0] if name not in cost.FIXED]
        rows = [[name, *(f"{column[name]:.2f}" for column in columns)] for name in names]
        rows.append(["**together**", *(f"**{cost.per_million(c, MILLION):.2f}**" for c in columns)])
        rows += [[f"{name}, a month", *(f"{c[name]:.2f}" for c in columns)] for name in cost.FIXED]
        return table(["US dollars a million", *settings], rows)

    def rivals(self) -> str:
        cases = {
            "no copies": {"copies": 0.0},
            "20 %": {"copies": 0.2},
            "50 %": {"copies": 0.5},
            "20 %, one a batch": {"copies": 0.2, "batch_size": 1},
        }

        def row(title: str, priced: Callable[[Traffic], Mapping[str, float]]) -> list[str]:
            cells = []
            for change in cases.values():
                traffic = replace(self.traffic, **change)  # type: ignore[arg-type]
                cells.append(f"{cost.per_million(priced(traffic), MILLION):.2f}")
            return [title, *cells]

        def ours(level: LogLevel) -> Callable[[Traffic], Mapping[str, float]]:
            return lambda t: cost.monthly(replace(t, log_level=level), self.measured, self.price)

        rows = [row(f"this project, `{level}`", ours(level)) for level in LogLevel]
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
        def ours(level: LogLevel) -> dict[str, float]:
            traffic = replace(self.traffic, log_level=level)
            return grouped(cost.monthly(traffic, self.measured, self.price), MILLION)

        rows = {
            f"this project, LogLevel={level}": ours(level)
            for level in (LogLevel.ERROR, LogLevel.ALL)
        }
        for asked in RIVALS:
            priced = rival(asked, self.traffic, self.measured, self.price)
            rows[asked.title] = grouped(priced, MILLION)
        return charts.bars(
            "US dollars a million events: 20 % copies, batches of ten, 200 ms a call",
            {"": rows},
            dict(
                zip(
                    GROUPS,
                    (charts.GREY, charts.BLUE, charts.GREEN, charts.PURPLE, charts.ORANGE),
                    strict=True,
                )
            ),
            panel_width=520,
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
