"""Places to ask in tests: the emulator, one that is broken off at a call, and Step Functions as
our own interpreter plays it."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from botocore.exceptions import ClientError

from once.local.aws import REGION, Emulator
from proof.asl.errors import Failure
from proof.asl.jsonata import Library
from proof.asl.machine import Machine
from proof.asl.one_state import Case, played

Json = Any
_LIBRARY = Library()


class DeployedStack:
    """The place that `make prove` asks on the emulator."""

    region, is_local, account = REGION, True, "000000000000"

    def __init__(self, aws: Emulator) -> None:
        self.called: set[str] = set()
        self._aws = aws

    def client(self, service: str) -> Any:
        client = self._aws.client(service)
        client.meta.events.register("before-call", self._note, unique_id=f"noted by {id(self)}")
        return client

    def _note(self, model: Any, **_: Any) -> None:
        """Notes the IAM action of a request."""
        prefix = {"stepfunctions": "states"}.get(name := model.service_model.service_name, name)
        operation = {"ListObjectsV2": "ListBucket"}.get(model.name, model.name)
        self.called.add(f"{prefix}:{operation}")


class BrokenOff(DeployedStack):
    """Interrupted at one of its calls: before it arrives, or when it has been answered."""

    def __init__(self, aws: Emulator, at: int, answered: bool) -> None:
        super().__init__(aws)
        self.made = 0
        self._at = at
        self._answered = answered

    def client(self, service: str) -> Any:
        return _Counted(super().client(service), self)

    def around(self, call: Callable[[], Any]) -> Any:
        self.made += 1
        if self.made != self._at:
            return call()
        if self._answered:
            with suppress(ClientError):
                call()
        raise KeyboardInterrupt


class _Counted:
    def __init__(self, client: Any, place: BrokenOff) -> None:
        self._client = client
        self._place = place

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        if name == "meta" or name == "get_paginator" or not callable(found):
            return found
        if name.startswith(("describe", "list")):  # as often as somebody looks
            return found
        return lambda **given: self._place.around(lambda: found(**given))


class OurStepFunctions:
    """Answers TestState as AWS's documentation says it does, by our own interpreter; `altered` may
    change the definition first, for an AWS on which something is otherwise."""

    def __init__(self, altered: Callable[[Json], None] = lambda _: None) -> None:
        self._altered = altered

    def test_state(self, **request: Any) -> Json:
        definition = json.loads(request["definition"])
        self._altered(definition)
        mock = request.get("mock", {})
        error = mock.get("errorOutput")
        context = json.loads(request.get("context", "{}"))
        case = Case(
            state=request["stateName"],
            input=json.loads(request["input"]),
            variables=json.loads(request["variables"]),
            clock_ms=round(time.time() * 1_000),
            execution=context.get("Execution", {}).get("Id", "arn:made:up"),
            result=json.loads(mock["result"]) if "result" in mock else None,
            error=Failure(**error) if error else None,
            used=request.get("stateConfiguration", {}).get("retrierRetryCount", 0),
        )
        if not mock and "roleArn" not in request:
            raise _refused("ValidationException", "a role or a mock is needed")
        return _as_aws_says_it(played(Machine(definition, _LIBRARY), case), case)


def _as_aws_says_it(answer: Json, case: Case) -> Json:
    said: dict[str, Json] = {"status": answer["status"], "inspectionData": {}}
    if "next" in answer:
        said["nextState"] = answer["next"]
    if "output" in answer:
        said["output"] = json.dumps(answer["output"])
    if "assigned" in answer:
        variables = {**case.variables, **answer["assigned"]}
        said["inspectionData"]["variables"] = json.dumps(variables)
    if "error" in answer:
        said["error"] = answer["error"]
    details = {"catch": "catchIndex", "retry": "retryIndex"}
    said["inspectionData"]["errorDetails"] = {
        theirs: answer[ours] for ours, theirs in details.items() if ours in answer
    }
    return said


def _refused(code: str, message: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "TestState")


class OnlyStepFunctions:
    region, is_local = REGION, True

    def __init__(self, stepfunctions: OurStepFunctions) -> None:
        self._stepfunctions = stepfunctions

    def client(self, service: str) -> Any:
        return {"stepfunctions": self._stepfunctions, "iam": _Iam()}[service]


class _Iam:
    def create_role(self, **request: Any) -> Json:
        return {"Role": {"Arn": f"arn:aws:iam::123456789012:role/{request['RoleName']}"}}

    def delete_role(self, **_: Any) -> None:
        return None
