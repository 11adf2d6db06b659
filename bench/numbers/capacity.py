"""Shows how many events AWS's quotas allow."""

from bench import charts
from bench.numbers.tables import table
from once.plan import capacity
from once.plan.traffic import MONTH_SECONDS, Measured, Traffic, prices

RATES = (50, 500, 5_000)
USUAL_RATE = 10
REGIONS = ("eu-central-1", "us-east-1")
ANY_DESTINATION = 1e9


class Capacity:
    def __init__(self) -> None:
        self.quota = capacity.quotas()
        self.measured, self.price = Measured.read(), prices()

    def load(self, rate: float) -> capacity.Load:
        traffic = Traffic(rate * MONTH_SECONDS, per_second=rate)
        return capacity.Load.of(traffic, self.measured, self.price)

    def limits(
        self, rate: float, region: str, destination: float | None, limited: bool = False
    ) -> list[capacity.Limit]:
        return capacity.limits(self.load(rate), self.quota, region, destination, limited)

    def table(self) -> str:
        """Shows for each rate the first quota of each region, and a start from cold."""
        rows = []
        for rate in RATES:
            load = self.load(rate)
            found = {r: self.limits(rate, r, ANY_DESTINATION) for r in REGIONS}
            course = capacity.simulate(rate, load, found[REGIONS[1]], self.quota)
            after = course.caught_up_after_seconds
            rows.append(
                [
                    f"{rate:,}",
                    f"{load.batch:.1f}",
                    *(f"{one[0].name}: {one[0].events_per_second:,.0f}" for one in found.values()),
                    f"{course.most_waiting:,.0f}" if after is not None else "grows",
                    f"{after:,} s" if after is not None else "never",
                ]
            )
        head = ["events per second", "events per batch", *(f"first quota, {r}" for r in REGIONS)]
        return table([*head, f"most waiting, {REGIONS[1]}", "caught up after"], rows)

    def line(self) -> str:
        genesys = self.limits(USUAL_RATE, REGIONS[0], None)[0]
        aws = self.limits(USUAL_RATE, REGIONS[0], ANY_DESTINATION)
        load, partition = self.load(USUAL_RATE), self.quota["dynamodb_partition"]
        tokens = next(rate for rate in RATES if self.token_row(rate) > 1)
        subject = partition["writes"] / load.writes
        return (
            f"With the target `genesys`, the first quota is that of Genesys Cloud for one token: "
            f"{genesys.quota}, which is {genesys.allowed / 60:.0f} requests per second, or "
            f"{genesys.events_per_second:.0f} messages if a fifth of them are copies. If the "
            f"destination keeps up, AWS's quotas in {REGIONS[0]} are reached in this order: "
            f"*{aws[0].name}* at {aws[0].events_per_second:,.0f} events per second, "
            f"*{aws[1].name}* at {aws[1].events_per_second:,.0f} in batches of one. The "
            f"table takes about {subject:,.0f} events of one subject per second. With "
            f"`MaxActionsPerMinute` all batches write to one row, which is throttled at "
            f"{tokens:,} events per second.\n"
        )

    def token_row(self, rate: float) -> float:
        """Computes the share of a partition's writes that the row of the limit takes."""
        writes = self.quota["dynamodb_partition"]["writes"]
        return float(2 * self.load(rate).batches * rate / writes)

    def chart(self) -> str:
        allowed = {
            f"{limit.name} ({limit.quota})": limit.events_per_second
            for limit in self.limits(USUAL_RATE, REGIONS[0], None)
        }
        title = (
            f"Events per second that each default quota allows, in batches of one ({REGIONS[0]})"
        )
        return charts.ranges(title, allowed, max(RATES))
