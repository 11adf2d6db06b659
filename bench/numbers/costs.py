"""Prices a million events."""

from dataclasses import replace
from typing import Any

from bench.numbers.tables import table
from once.plan import cost
from once.plan.traffic import LogClass, LogLevel, Measured, Traffic, flow_of, prices

MILLION = 1_000_000
USUAL_RATE = 10


class Costs:
    def __init__(self) -> None:
        self.measured, self.price = Measured.read(), prices()
        self.traffic = Traffic(MILLION, per_second=USUAL_RATE, log_level=LogLevel.ERROR)

    def monthly(self, **change: Any) -> dict[str, float]:
        return cost.monthly(replace(self.traffic, **change), self.measured, self.price)

    def of(self, **change: Any) -> float:
        return cost.per_million(self.monthly(**change), MILLION)

    def fixed(self) -> float:
        return sum(self.monthly()[name] for name in cost.FIXED)

    def most_fixed(self) -> float:
        return self.fixed() + cost.troubled(self.measured, self.price)

    def short(self) -> str:
        every = self.of(log_level=LogLevel.ALL)
        return (
            f"A million messages cost **${self.of():.2f}** with `LogLevel=ERROR` and "
            f"**${every:.2f}** with `ALL`, at ten per second, a fifth\n"
            "of them copies. A limit, the default for `genesys`, adds "
            f"${self.of(limited=True) - self.of():.2f}. Alarms, metrics, dashboard and an idle\n"
            f"pipe add ${self.fixed():.2f} per month.\n"
        )

    def line(self) -> str:
        every: dict[str, Any] = {"log_level": LogLevel.ALL}
        window = flow_of(replace(self.traffic, window_s=1), self.price)

        def row(name: str, **change: Any) -> list[str]:
            return [name, f"{self.of(**change):.2f}", f"{self.of(**every, **change):.2f}"]

        infrequent = self.of(**every, log_class=LogClass.INFREQUENT_ACCESS)
        payloads = self.of(**every, log_payloads=True)
        rows = [
            row("without a limit"),
            row("with a limit, the default for `genesys`", limited=True),
            row("`BatchWindowSeconds=1`", window_s=1),
            ["`ExecutionLogClass=INFREQUENT_ACCESS`", "", f"{infrequent:.2f}"],
            ["`LogPayloads=true`", "", f"{payloads:.2f}"],
        ]
        prices = table(["US dollars per million events", "`LogLevel=ERROR`", "`ALL`"], rows)
        return (
            f"{prices}\n"
            "An event here is a message: ten come per second, a fifth of them copies. The Step "
            "Functions console\nshows single executions only with `ALL`. `BatchWindowSeconds=1` "
            f"delays events by {window.queued_s:.1f} s, at low traffic by up to 20 s. Alarms,\n"
            f"metrics, dashboard and an idle pipe cost ${self.fixed():.2f} per month "
            f"(${self.most_fixed():.2f} with trouble in every hour).\n"
        )

    def items(self) -> str:
        every = {"log_level": LogLevel.ALL}
        settings: dict[str, dict[str, Any]] = {
            "`ERROR`": {},
            "`ALL`": every,
            "`ALL`, `LogPayloads`": every | {"log_payloads": True},
            "`ALL`, window 1 s": every | {"window_s": 1},
            "`ERROR`, limited": {"limited": True},
        }
        columns = [self.monthly(**change) for change in settings.values()]
        names = [name for name in columns[0] if name not in cost.FIXED]
        rows = [[name, *(f"{column[name]:.2f}" for column in columns)] for name in names]
        rows.append(["**total**", *(f"**{cost.per_million(c, MILLION):.2f}**" for c in columns)])
        shown = [row for row in rows if any(cell != "0.00" for cell in row[1:])]
        return table(["US dollars per million events", *settings], shown)
