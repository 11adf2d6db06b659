"""Every check of proof/template passes on what we deploy, and each of them bites."""

from functools import cache

import pytest

from proof.template.__main__ import EVERY_OPTION
from proof.template.check import CHECKS, Deployed
from proof.template.translated import Translated
from tests.template.deployments import DEPLOYMENTS

BROKEN = [(name, sample) for name, one in CHECKS.items() for sample in one.broken]
SETS = {"every option": Translated(EVERY_OPTION), "defaults": Translated({})}
OTHERS = [pytest.param(name, marks=pytest.mark.thorough) for name in DEPLOYMENTS]


@cache
def deployed(name: str) -> Deployed:
    return Deployed.of((DEPLOYMENTS | SETS)[name])


@pytest.mark.parametrize("name", [*SETS, *OTHERS])
def test_deployment_passes_each_check(name: str) -> None:
    found = {one.name: list(one.find(deployed(name))) for one in CHECKS.values()}
    assert {check: findings for check, findings in found.items() if findings} == {}


@pytest.mark.parametrize(("name", "sample"), BROKEN)
def test_check_refuses_its_broken_sample(name: str, sample: str) -> None:
    broken = deployed("every option").broken(CHECKS[name].broken[sample])
    assert list(CHECKS[name].find(broken))


@pytest.mark.parametrize("name", CHECKS)
def test_check_has_a_broken_sample(name: str) -> None:
    assert CHECKS[name].broken
