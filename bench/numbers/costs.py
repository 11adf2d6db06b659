"""Prices a million events, here and with the rivals."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from bench import charts
from bench.numbers.tables import table
from bench.rival_costs import GROUPS, RIVALS, as_standard, grouped, rival
from once.plan import cost
from once.plan.traffic import LogClass, LogLevel, Measured, Traffic, flow_of, prices

MILLION = 1_000_000
USUAL_RATE = 10
RATES = (1, 10, 100)


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

    def windows(self) -> str:
        """Says what a window of one second makes of batches at each rate."""
        flows = [
            flow_of(replace(self.traffic, per_second=rate, window_s=1), self.price)
            for rate in RATES
        ]

        def each(form: str, name: str) -> str:
            *first, last = (form.format(getattr(flow, name)) for flow in flows)
            return f"{', '.join(first)} and {last}"

        rates = ", ".join(map(str, RATES[:-1]))
        return (
            f"With a window of 1 s, at {rates} and {RATES[-1]} events per second, a batch has "
            f"{each('{:.1f}', 'batch')} events, and an event waits "
            f"{each('{:.1f}', 'queued_s')} s for it.\n"
        )

    def rivals(self) -> str:
        """Prices this project and the rivals, each at every rate."""
        cases: dict[str, dict[str, Any]] = {
            **{f"{rate} per second": {"per_second": rate} for rate in RATES},
            "a backlog": {"backlog": True},
        }

        def row(title: str, priced: Callable[[Traffic], Mapping[str, float]]) -> list[str]:
            cells = []
            for change in cases.values():
                traffic = replace(self.traffic, **change)
                cells.append(f"{cost.per_million(priced(traffic), MILLION):.2f}")
            return [title, *cells]

        def ours(**change: Any) -> Callable[[Traffic], Mapping[str, float]]:
            return lambda t: cost.monthly(replace(t, **change), self.measured, self.price)

        rows = [
            row(f"genesys-once, `{level}`{window}", ours(log_level=level, window_s=window_s))
            for window_s, window in ((0, ""), (1, ", window 1 s"))
            for level in (LogLevel.ALL, LogLevel.ERROR)
        ]
        rows += [
            row(
                f"{asked.title}{f' ({asked.beside})' if asked.beside else ''}",
                lambda t, asked=asked: rival(asked, t, self.measured, self.price),  # type: ignore[misc]
            )
            for asked in RIVALS
        ]
        rows.append(
            row(
                "this state machine as a Standard workflow, one event at a time",
                lambda t: as_standard(t, self.measured, self.price),
            )
        )
        return table(["US dollars per million events", *cases], rows)

    def chart(self) -> str:
        def rows(**change: Any) -> dict[str, dict[str, float]]:
            traffic = replace(self.traffic, **change)
            ours = {
                f"genesys-once, {level}": cost.monthly(
                    replace(traffic, log_level=level), self.measured, self.price
                )
                for level in (LogLevel.ERROR, LogLevel.ALL)
            }
            theirs = {
                asked.title: rival(asked, traffic, self.measured, self.price) for asked in RIVALS
            }
            return {title: grouped(costs, MILLION) for title, costs in (ours | theirs).items()}

        return charts.bars(
            "US dollars per million events: 20 % copies within 50 ms, 200 ms per request",
            {
                f"{USUAL_RATE} per second, batches of one": rows(),
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
