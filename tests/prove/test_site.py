"""Resources that a deleted stack retains are deleted after it."""

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from proof.prove.files import template
from proof.prove.ledger import Ledger
from proof.prove.site import Site

STACK = "once-prove-test"
RETAINED = {
    name: resource["Type"]
    for name, resource in template()["Resources"].items()
    if resource.get("DeletionPolicy", "Delete") != "Delete"
}


class Aws:
    """Every service at once: a stack with all that the template retains, and what was deleted."""

    is_local, region = True, "eu-central-1"

    def __init__(self, gone: frozenset[str] = frozenset()) -> None:
        self.deleted: list[str] = []
        self._gone = gone
        self.busy, self.changing = 0, "UPDATE_IN_PROGRESS"

    def client(self, _: str) -> Any:
        return self

    def get_paginator(self, operation: str) -> Any:
        pages = {
            "list_stack_resources": {
                "StackResourceSummaries": [
                    {"ResourceType": kind, "PhysicalResourceId": name}
                    for name, kind in RETAINED.items()
                ]
            },
            "list_objects_v2": {},
        }
        page = pages[operation]
        return type("Pages", (), {"paginate": lambda *_, **__: [page]})()

    def describe_stacks(self, **_: str) -> Any:
        if STACK in self.deleted:
            raise ClientError({"Error": {"Code": "ValidationError"}}, "DescribeStacks")
        self.busy -= 1
        status = self.changing if self.busy >= 0 else "UPDATE_COMPLETE"
        return {"Stacks": [{"StackStatus": status}]}

    def describe_table(self, **_: str) -> Any:
        return {"Table": {}}

    def __getattr__(self, operation: str) -> Any:
        assert operation.startswith("delete_"), operation

        def delete(**named: str) -> None:
            (name,) = named.values()
            if name in self._gone:
                code = "ResourceNotFoundException"
                raise ClientError({"Error": {"Code": code}}, operation)
            assert self.busy <= 0, "AWS deletes no stack that is being changed"
            self.deleted.append(name)

        return delete


def cleaned(aws: Any, folder: Path) -> Ledger:
    ledger = Ledger.open(STACK, {}, folder)
    ledger.creating("stack", STACK)
    Site(aws, ledger).clean()
    return ledger


def test_all_that_the_template_retains_is_deleted_after_its_stack(tmp_path: Path) -> None:
    aws = Aws()
    cleaned(aws, tmp_path)
    # Log streams go with their groups.
    kept = {name for name, kind in RETAINED.items() if kind != "AWS::Logs::LogStream"}
    assert aws.deleted[0] == STACK
    assert set(aws.deleted[1:]) == kept


def test_what_is_gone_already_is_no_fault(tmp_path: Path) -> None:
    aws = Aws(gone=frozenset(RETAINED))
    cleaned(aws, tmp_path)
    assert aws.deleted == [STACK]


@pytest.mark.parametrize(
    "status",
    [
        "CREATE_IN_PROGRESS",
        "ROLLBACK_IN_PROGRESS",
        "UPDATE_IN_PROGRESS",
        "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
        "UPDATE_ROLLBACK_IN_PROGRESS",
        "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
    ],
)
def test_a_stack_that_is_being_changed_is_deleted_when_that_is_over(
    tmp_path: Path, status: str
) -> None:
    aws = Aws()
    aws.busy, aws.changing = 3, status
    cleaned(aws, tmp_path)
    assert aws.deleted[0] == STACK
