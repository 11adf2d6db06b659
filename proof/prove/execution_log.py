"""Does the execution log hold what the Step Functions console lists and draws?

The console has no API. What it shows of an Express workflow, it gathers through Logs Insights from
the machine's log group (concepts-view-execution-details.html, "Availability of Express workflow
execution details"), which queries groups of both classes (CWL_AnalyzeLogData_Classes.html).
"""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from once.operate import log
from once.operate.canaries import Canaries, send_canary
from proof.prove.messages import settle
from proof.prove.question import Question, UnansweredError
from proof.prove.site import Site
from proof.prove.throwaway import Deployed, change

Json = Any
_LISTED = 'filter type = "TaskStateEntered" | stats count(*) as entered by execution_arn'
# Step Functions delivers its log a moment later, and promises nothing about the time.
_PATIENCE_SECONDS, _POLL_SECONDS = 180, 10


def questions(stack: Deployed) -> Iterator[Question]:
    """To be put last: the group of the class before is deleted, and only a new stack brings it."""
    for log_class in ("STANDARD", "INFREQUENT_ACCESS"):
        yield Question(
            name=f"deployed: the execution log in class {log_class}",
            guards="Logs Insights finds the states of an execution, as the console looks for them",
            ask=partial(_listed, stack, log_class),
            expected={"class": log_class, "executions": "listed"},
        )


def _listed(stack: Deployed, log_class: str, site: Site, broken: bool) -> Json:
    """Broken, the log is the one of outcomes, in which no execution enters a state."""
    suffix = "" if log_class == "STANDARD" else "-infrequent"
    group = f"/aws/vendedlogs/states/{stack.name}{suffix}"
    if not _class_of(stack, group):
        change(stack, site, ExecutionLogClass=log_class)
    sent_ms = log.now_ms()
    settle(stack, site, sent_ms, [send_canary(stack, Canaries.create(fails_for_ms=0).good.body)])
    searched = stack.outputs["OutcomeLogGroupName"] if broken else group
    until = time.monotonic() + (0 if broken or site.place.is_local else _PATIENCE_SECONDS)
    while not (found := log.query(stack, searched, _LISTED, sent_ms)):
        if time.monotonic() > until:
            break
        site.wait(_POLL_SECONDS)
    machine = stack.outputs["StateMachineArn"].rpartition(":")[2]
    ours = [row for row in found if f":{machine}:" in row["execution_arn"]]
    return {
        "class": _class_of(stack, group),
        "executions": "listed" if ours else "not there",
    }


def _class_of(stack: Deployed, group: str) -> str | None:
    groups = stack.client("logs").describe_log_groups(logGroupNamePrefix=group)["logGroups"]
    found = [one for one in groups if one["logGroupName"] == group]
    if found and "logGroupClass" not in found[0]:
        raise UnansweredError("CloudWatch Logs does not say which class a group has")
    return found[0]["logGroupClass"] if found else None
