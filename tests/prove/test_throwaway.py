"""With which settings the throwaway stack is deployed, and how its changes end."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from once.local.deploy import local_parameters
from proof.prove import throwaway
from proof.prove.ledger import Ledger, Thing
from proof.prove.messages import patience_seconds
from proof.prove.question import UnansweredError
from proof.prove.site import Site
from proof.prove.throwaway import Deployed

NAME = "once-prove-test"


class Aws:
    """CloudFormation, of which it is said which statuses it answers one after the other."""

    region = "eu-central-1"

    def __init__(self, is_local: bool, statuses: Sequence[str] = ()) -> None:
        self.is_local = is_local
        self.asked: list[dict[str, Any]] = []
        self._statuses = iter(statuses)

    def client(self, _: str) -> Any:
        return self

    def describe_stacks(self, **_: str) -> Any:
        reason = "No memory left"
        return {"Stacks": [{"StackStatus": next(self._statuses), "StackStatusReason": reason}]}

    def get_queue_attributes(self, **_: Any) -> Any:
        return {"Attributes": {"VisibilityTimeout": "480"}}

    def __getattr__(self, operation: str) -> Any:
        return lambda **asked: self.asked.append(asked)


def site(aws: Any, folder: Path) -> Site:
    return Site(aws, Ledger.open(NAME, {}, folder))


@pytest.mark.parametrize(("local", "timing"), [(False, "production"), (True, "fast")])
def test_on_aws_the_times_of_production_are_what_is_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, local: bool, timing: str
) -> None:
    given: dict[str, str] = {}

    def deploy(_: Any, __: Path, parameters: dict[str, str], *___: Any, **____: Any) -> Any:
        given.update({**local_parameters(), **parameters})
        raise InterruptedError

    monkeypatch.setattr(throwaway, "deploy", deploy)
    nowhere: Any = None
    with (
        suppress(InterruptedError),
        throwaway.deployed(site(Aws(local), tmp_path), nowhere),
    ):
        pass
    assert given["Timing"] == timing


def test_no_wait_is_over_before_the_queue_shows_a_message_again(tmp_path: Path) -> None:
    stack = Deployed(site(Aws(is_local=False), tmp_path))
    vars(stack)["outputs"] = {"EventQueueUrl": "https://sqs/queue"}
    assert patience_seconds(stack) > 480


def test_a_stack_that_cannot_be_created_is_no_answer_and_is_deleted_in_the_end(
    tmp_path: Path,
) -> None:
    here = site(
        Aws(True, ["CREATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE"]), tmp_path
    )
    with pytest.raises(UnansweredError, match="ROLLBACK_COMPLETE: No memory left"):
        throwaway.created(here, f"{NAME}-sink", "{}")
    assert here.ledger.left() == [Thing("stack", f"{NAME}-sink")]


def test_only_the_function_that_is_called_changes(tmp_path: Path) -> None:
    aws = Aws(True, ["UPDATE_IN_PROGRESS", "UPDATE_COMPLETE"])
    here = site(aws, tmp_path)
    stack: Any = SimpleNamespace(
        name=NAME, parameters={"ActionFunctionArn": "", "Timing": "production"}
    )
    throwaway.call(stack, here, "arn:of:another")
    (asked,) = aws.asked
    assert asked["UsePreviousTemplate"]
    assert asked["Parameters"] == [
        {"ParameterKey": "ActionFunctionArn", "ParameterValue": "arn:of:another"},
        {"ParameterKey": "Timing", "UsePreviousValue": True},
    ]
