"""A pipe reads which messages failed only from an Express machine that it calls synchronously, and
it stops by itself where a Standard machine is to be called so.

Called asynchronously the messages are deleted before anything is done. Emulators take every
combination; AWS creates the pipe and stops it later, with a StateReason.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "eventbridge/latest/userguide/eb-pipes-error-troubleshooting.html",
        "A standard workflow that is to be invoked synchronously is a reason to stop the pipe; "
        "only what is called synchronously can be retried.",
    ),
    page(
        "eventbridge/latest/userguide/eb-pipes-batching-concurrency.html",
        "Step Functions can answer batchItemFailures, by the messageId of the source.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    for name, pipe in deployed.of_type("AWS::Pipes::Pipe").items():
        how = pipe["TargetParameters"]["StepFunctionStateMachineParameters"]["InvocationType"]
        if how != "REQUEST_RESPONSE":
            yield f"{name} calls its target by {how}"
        if deployed.properties(pipe["Target"]["Ref"]).get("StateMachineType") != "EXPRESS":
            yield f"{name} calls a machine that is not EXPRESS"


def _not_waited_for(deployed: Deployed) -> None:
    target = deployed.properties("Pipe")["TargetParameters"]["StepFunctionStateMachineParameters"]
    target["InvocationType"] = "FIRE_AND_FORGET"


def _standard(deployed: Deployed) -> None:
    deployed.properties("StateMachine")["StateMachineType"] = "STANDARD"


BROKEN = {"a machine that is not waited for": _not_waited_for, "a Standard machine": _standard}
