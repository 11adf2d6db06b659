"""A log line becomes metrics only if it keeps to the embedded metric format: a Timestamp in
milliseconds, sets of dimensions whose values are text, at most 100 metrics of at most 100 numbers.

A line that does not is logged like any other and makes no metric, without an error that reaches us.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed
from proof.aws.metrics import embedded_metrics
from proof.aws.outcome_log import log_events

SOURCES = (
    page(
        "AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html",
        "Metadata, MetricDirective and DimensionSet objects, and their limits.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    metrics = 0
    for event in log_events(deployed.states["RecordOutcomes"]):
        try:
            metrics += len(embedded_metrics(event["Message"]))
        except (AssertionError, KeyError) as error:
            yield f"{error!r} in {event['Message'][:200]}"
    if not metrics:
        yield "no line of the outcome log makes a metric"


def _instead_of(old: str, new: str) -> object:
    def edit(deployed: Deployed) -> None:
        arguments = deployed.states["RecordOutcomes"]["Arguments"]
        assert old in arguments["LogEvents"], old
        arguments["LogEvents"] = arguments["LogEvents"].replace(old, new)

    return edit


BROKEN = {
    "a time as text": _instead_of(
        "'Timestamp': $now, 'Cloud", "'Timestamp': $string($now), 'Cloud"
    ),
    "dimensions that are no list of lists": _instead_of("[['Stack']]", "['Stack']"),
    "a value as text": _instead_of("'PROCESSED': $number('PROCESSED')", "'PROCESSED': ['2']"),
    "another word for the metadata": _instead_of("'_aws'", "'aws'"),
}
