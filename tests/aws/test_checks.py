"""Every check of proof/aws passes on what we deploy, and each of them bites."""

import re
from functools import cache

import pytest

from proof.aws import check
from proof.aws.check import Check
from proof.aws.deployed import Deployed, ours
from tests.test_deployments import DEPLOYMENTS

CHECKS = {one.name: one for one in check.every()}
SAMPLES = [(name, sample) for name, one in CHECKS.items() for sample in one.broken]


@cache
def all_deployed() -> dict[str, Deployed]:
    return {name: Deployed.of(translated) for name, translated in DEPLOYMENTS.items()} | ours()


each_check = pytest.mark.parametrize("one", CHECKS.values(), ids=CHECKS)


@each_check
def test_what_we_deploy_passes(one: Check) -> None:
    found = {name: list(one.findings(deployed)) for name, deployed in all_deployed().items()}
    assert {name: findings for name, findings in found.items() if findings} == {}


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_a_check_refuses_each_of_its_broken_samples(name: str, sample: str) -> None:
    one = CHECKS[name]
    broken = all_deployed()["with every option"].broken(one.broken[sample])
    assert list(one.findings(broken))


@each_check
def test_a_check_says_its_rule_whom_it_bites_where_that_is_said_and_what_it_refuses(
    one: Check,
) -> None:
    assert one.rule.endswith(".")
    assert one.more.endswith(".")
    assert one.broken
    assert one.sources
    for source in one.sources:
        assert re.fullmatch(r"https?://[^\s]+", source.address), source
        assert source.says, source


@pytest.mark.parametrize(
    ("sample", "refused_by"),
    [
        ("the prefix of aws-sdk", "states_error_names_are_those_that_come"),
        ("a code of DynamoDB that has no class", "states_error_names_are_those_that_come"),
        ("a policy with two queues", "sqs_policy_covers_one_queue"),
        ("an unclear Assign of a Choice", "states_choice_and_wait_assign_nothing"),
        ("an unclear Assign of a Wait", "states_choice_and_wait_assign_nothing"),
    ],
)
def test_a_wrong_error_name_two_queues_and_an_unclear_assign_are_refused_by_name(
    sample: str, refused_by: str
) -> None:
    """And by no other check, so the name says what is wrong."""
    broken = all_deployed()["with every option"].broken(CHECKS[refused_by].broken[sample])
    assert [one.name for one in CHECKS.values() if list(one.findings(broken))] == [refused_by]
