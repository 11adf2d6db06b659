"""Asks what CloudWatch counts: batches that return, and the bytes of the execution log."""

import json
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from once.project import ROOT
from proof.prove.question import Question, UnansweredError
from proof.prove.site import Site
from proof.prove.throwaway import Deployed

Json = Any
# CloudWatch has what happened after some minutes; the whole run lies within a day.
_PATIENCE_SECONDS, _POLL_SECONDS = 600, 20
_DAY_SECONDS = 86_400
_RETURNED = ("ExecutionFailed", "ExecutionPartiallyFailed")
_FACTOR = 2
_COUNTED = ROOT / "bench" / "results" / "cost.json"


def questions(stack: Deployed) -> Iterator[Question]:
    """To be put before an execution fails: until then each batch that failed reported its items."""
    yield Question(
        name="deployed: the metric of a batch all of whose items return",
        guards="AWS documents for no metric of Pipes whether it counts such a batch",
        ask=partial(_returned, stack),
        expected={"counted in": ["ExecutionPartiallyFailed"]},
    )
    yield Question(
        name="deployed: the bytes of the execution log",
        guards="at LogLevel=ALL the estimate of this log is more than half of the price",
        ask=partial(_logged, stack),
        expected={"as estimated, to a factor of two": True},
    )


def _returned(stack: Deployed, site: Site, broken: bool) -> Json:
    """Broken, there is no such pipe."""
    name = stack.outputs["PipeName"]
    _wait_for(stack, site, "AWS/EventBridge/Pipes", "Invocations", PipeName=name)
    pipe = f"{name}-nobody" if broken else name
    counted = [
        name for name in _RETURNED if _sum(stack, "AWS/EventBridge/Pipes", name, PipeName=pipe)
    ]
    return {"counted in": counted}


def _logged(stack: Deployed, site: Site, broken: bool) -> Json:
    """Broken, another log is looked at."""
    group = f"/aws/vendedlogs/{'pipes' if broken else 'states'}/{stack.name}"
    machine = stack.outputs["StateMachineArn"]
    executions = _wait_for(stack, site, "AWS/States", "ExecutionsStarted", StateMachineArn=machine)
    logged = _sum(stack, "AWS/Logs", "IncomingBytes", LogGroupName=group)
    parts = json.loads(_COUNTED.read_text("utf-8"))["parts"]
    estimate = sum(parts[part]["machineLogBytesAll"] for part in ("batch", "unique"))
    ratio = logged / executions / estimate
    return {
        "as estimated, to a factor of two": 1 / _FACTOR <= ratio <= _FACTOR,
        "bytes an execution": round(logged / executions),
        "estimate": round(estimate),
    }


def _wait_for(stack: Deployed, site: Site, namespace: str, name: str, **dimensions: str) -> float:
    until = time.monotonic() + (0 if site.place.is_local else _PATIENCE_SECONDS)
    while not (found := _sum(stack, namespace, name, **dimensions)):
        if time.monotonic() > until:
            raise UnansweredError(f"CloudWatch has no {namespace} {name} of this stack")
        site.wait(_POLL_SECONDS)
    return found


def _sum(stack: Deployed, namespace: str, name: str, **dimensions: str) -> float:
    now = time.time()
    points: Sequence[Json] = stack.client("cloudwatch").get_metric_statistics(
        Namespace=namespace,
        MetricName=name,
        Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
        StartTime=now - _DAY_SECONDS,
        EndTime=now,
        Period=_DAY_SECONDS,
        Statistics=["Sum"],
    )["Datapoints"]
    return float(sum(point["Sum"] for point in points))
