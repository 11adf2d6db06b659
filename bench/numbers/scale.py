"""How time grows with the events, and what AWS's quotas allow."""

from bench import charts, recorded
from bench.numbers.tables import table
from once.plan import capacity, cost
from once.plan.cost import Measured, Traffic

RATES = (10, 100, 1_000, 10_000)
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
        self.load = capacity.Load.of(Traffic(0), Measured.read(), cost.prices())

    def limits(self, region: str, destination: float | None) -> list[capacity.Limit]:
        return capacity.limits(self.load, self.quota, region, destination, limited=False)

    def table(self) -> str:
        rows = []
        for rate in RATES:
            for region in REGIONS:
                found = self.limits(region, ANY_DESTINATION)
                short = [limit.name for limit in found if limit.events_per_second < rate]
                course = capacity.simulate(rate, self.load, found, self.quota)
                after = course.caught_up_after_seconds
                rows.append(
                    [
                        f"{rate:,}",
                        region,
                        ", ".join(short) or "none",
                        f"{course.most_waiting:,.0f}" if after is not None else "grows",
                        f"{after:,} s" if after is not None else "never",
                        course.held_back_by if after else "",
                    ]
                )
        head = ["events a second", "region", "quotas too low", "most waiting"]
        return table([*head, "caught up after", "held back by"], rows)

    def line(self) -> str:
        genesys = self.limits(REGIONS[0], None)[0]
        aws = self.limits(REGIONS[0], ANY_DESTINATION)
        return (
            f"The destination binds first: {genesys.quota} calls of one Genesys Cloud token are "
            f"{genesys.events_per_second:.0f} events a second. With a destination that keeps up, "
            f"{aws[0].name} does, at {aws[0].events_per_second:,.0f} events a second in "
            f"{REGIONS[0]}; then {aws[1].name}, at {aws[1].events_per_second:,.0f}.\n"
        )

    def chart(self) -> str:
        allowed = {
            f"{limit.name} ({limit.quota})": limit.events_per_second
            for limit in self.limits(REGIONS[0], None)
        }
        title = f"Events a second that each default quota allows ({REGIONS[0]})"
        return charts.ranges(title, allowed, max(RATES))
