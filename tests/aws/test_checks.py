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
def test_our_deployments_pass_each_check(one: Check) -> None:
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
    assert one.broken
    assert one.sources
    for source in one.sources:
        assert re.fullmatch(r"https?://[^\s]+", source.address), source
        assert source.says, source
