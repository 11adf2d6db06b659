"""Every check of proof/template passes on what we deploy, and each of them bites."""

from functools import cache

import pytest

from proof.template.__main__ import EVERY_OPTION
from proof.template.check import CHECKS, Deployed
from proof.template.translated import Translated
from tests.template.deployments import DEPLOYMENTS

BROKEN = [(name, sample) for name, one in CHECKS.items() for sample in one.broken]


@cache
def all_deployed() -> dict[str, Deployed]:
    everything = {"every option": Translated(EVERY_OPTION), "defaults": Translated({})}
    return {name: Deployed.of(one) for name, one in (DEPLOYMENTS | everything).items()}


@pytest.mark.parametrize("name", CHECKS)
def test_our_deployments_pass_each_check(name: str) -> None:
    found = {which: list(CHECKS[name].find(one)) for which, one in all_deployed().items()}
    assert {which: findings for which, findings in found.items() if findings} == {}


@pytest.mark.parametrize(("name", "sample"), BROKEN)
def test_a_check_refuses_its_broken_sample(name: str, sample: str) -> None:
    broken = all_deployed()["every option"].broken(CHECKS[name].broken[sample])
    assert list(CHECKS[name].find(broken))


@pytest.mark.parametrize("name", CHECKS)
def test_each_check_has_a_rule_a_source_and_a_broken_sample(name: str) -> None:
    one = CHECKS[name]
    assert one.rule
    assert one.broken
    assert one.sources
    assert all(source.startswith("https://") for source in one.sources)
