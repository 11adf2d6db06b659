"""With which settings the throwaway stack is deployed."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from once.embedded.deploy import local_parameters
from once.prove import throwaway
from once.prove.ledger import Ledger
from once.prove.messages import patience_seconds
from once.prove.site import Site
from once.prove.throwaway import Deployed

NAME = "once-prove-test"


class Aws:
    region = "eu-central-1"

    def __init__(self, embedded: bool) -> None:
        self.embedded = embedded

    def client(self, _: str) -> Any:
        return self

    def get_queue_attributes(self, **_: Any) -> Any:
        return {"Attributes": {"VisibilityTimeout": "480"}}

    def __getattr__(self, operation: str) -> Any:
        return lambda **_: None


def site(aws: Any, folder: Path) -> Site:
    return Site(aws, Ledger.open(NAME, {}, folder))


@pytest.mark.parametrize(("embedded", "timing"), [(False, "production"), (True, "fast")])
def test_on_aws_the_times_of_production_are_what_is_proved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedded: bool, timing: str
) -> None:
    given: dict[str, str] = {}

    def deploy(_: Any, __: Path, parameters: dict[str, str], *___: Any, **____: Any) -> Any:
        given.update({**local_parameters(), **parameters})
        raise InterruptedError

    monkeypatch.setattr(throwaway, "deploy", deploy)
    nowhere: Any = None
    with (
        suppress(InterruptedError),
        throwaway.deployed(site(Aws(embedded), tmp_path), nowhere),
    ):
        pass
    assert given["Timing"] == timing


def test_nobody_gives_up_before_the_queue_hands_a_message_out_again(tmp_path: Path) -> None:
    stack = Deployed(site(Aws(embedded=False), tmp_path))
    vars(stack)["outputs"] = {"EventQueueUrl": "https://sqs/queue"}
    assert patience_seconds(stack) > 480
