"""How time grows with the events, and what AWS's quotas allow."""

from bench import charts, recorded
from bench.numbers.tables import table
from once.plan import capacity, cost
from once.plan.cost import LogLevel, Measured, Traffic

RATES = (50, 500, 5_000)
USUAL_RATE = 10
REGIONS = ("eu-central-1", "us-east-1")
ANY_DESTINATION = 1e9


def scale_line() -> str:
    result = recorded.read("scale")
    first, last = result["points"][0], result["points"][-1]
    return (
        f"{first['events']:,} events drain in {first['seconds']:.1f} s and {last['events']:,} in "
        f"{last['seconds']:.1f} s on this machine's embedded AWS: a straight line "
        f"(R² = {result['rSquared']:.3f}), {result['eventsPerSecond']:.0f} events a second. It "
        "shows that nothing grows faster than the events, not how fast AWS is.\n"
    )


def scale_chart() -> str:
    points = [(p["events"], p["seconds"]) for p in recorded.read("scale")["points"]]
    return charts.points("Draining a full queue", points, "events", "seconds")


class Capacity:
    def __init__(self) -> None:
        self.quota = capacity.quotas()
        self.measured, self.price = Measured.read(), cost.prices()

    def load(self, rate: float) -> capacity.Load:
        traffic = Traffic(rate * cost.MONTH_SECONDS, per_second=rate)
        return capacity.Load.of(traffic, self.measured, self.price)

    def limits(
        self, rate: float, region: str, destination: float | None, limited: bool = False
    ) -> list[capacity.Limit]:
        return capacity.limits(self.load(rate), self.quota, region, destination, limited)

    def table(self) -> str:
        rows = []
        for rate in RATES:
            load = self.load(rate)
            for region in REGIONS:
                found = self.limits(rate, region, ANY_DESTINATION)
                short = [limit.name for limit in found if limit.events_per_second < rate]
                course = capacity.simulate(rate, load, found, self.quota)
                after = course.caught_up_after_seconds
                rows.append(
                    [
                        f"{rate:,}",
                        region,
                        f"{load.batch:.1f}",
                        ", ".join(short) or "none",
                        f"{found[0].name}: {found[0].events_per_second:,.0f}",
                        f"{course.most_waiting:,.0f}" if after is not None else "grows",
                        f"{after:,} s" if after is not None else "never",
                    ]
                )
        head = ["events a second", "region", "a batch", "quotas too low", "first to bind"]
        return table([*head, "most waiting from cold", "caught up after"], rows)

    def hot(self) -> str:
        """Dollars a month, and how hot the rows get that many batches share."""
        partition = self.quota["dynamodb_partition"]
        rows = []
        for rate in RATES:
            load = self.load(rate)
            dollars = [
                cost.monthly(
                    Traffic(rate * cost.MONTH_SECONDS, per_second=rate, log_level=level),
                    self.measured,
                    self.price,
                )
                for level in (LogLevel.ERROR, LogLevel.ALL)
            ]
            rows.append(
                [
                    f"{rate:,}",
                    *(f"{sum(one.values()):,.0f}" for one in dollars),
                    f"{0.5 * load.batches * rate / partition['reads']:.1%}",
                    f"{2 * load.batches * rate / partition['writes']:.0%}",
                    f"{partition['writes'] / load.writes:,.0f} a second",
                ]
            )
        head = ["events a second", "`ERROR`, $ a month", "`ALL`", "breaker's row"]
        return table([*head, "token row, if limited", "one subject takes"], rows)

    def line(self) -> str:
        genesys = self.limits(USUAL_RATE, REGIONS[0], None)[0]
        aws = self.limits(USUAL_RATE, REGIONS[0], ANY_DESTINATION)
        return (
            f"The destination binds first: {genesys.quota} calls of one Genesys Cloud token are "
            f"{genesys.events_per_second:.0f} events a second. With a destination that keeps up, "
            f"{aws[0].name} does, at {aws[0].events_per_second:,.0f} events a second in "
            f"{REGIONS[0]}; then {aws[1].name}, at {aws[1].events_per_second:,.0f} in batches of "
            "one.\n"
        )

    def chart(self) -> str:
        allowed = {
            f"{limit.name} ({limit.quota})": limit.events_per_second
            for limit in self.limits(USUAL_RATE, REGIONS[0], None)
        }
        title = f"Events a second that each default quota allows, one a batch ({REGIONS[0]})"
        return charts.ranges(title, allowed, max(RATES))
