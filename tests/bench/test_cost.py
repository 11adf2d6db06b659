"""Costs are counts of the simulator times list prices."""

import pytest

from bench.cost import Counts, dollars, fixed, mixed, paths, prices

PRICE = prices()


@pytest.fixture(scope="module")
def counted() -> dict[str, Counts]:
    return paths()


def total(counted: dict[str, Counts], name: str, level: str = "ERROR") -> float:
    return sum(dollars(name, counted[name], level, PRICE).values())


def test_path_of_an_act_has_a_claim_a_request_and_a_completion(counted: dict[str, Counts]) -> None:
    counts = counted["acts, without an order"]
    assert counts["execution"] == counts["function"] == counts["records"] == 1
    writes = [key for key in counts if key[0] == "task" and "Item" in key[1]]
    assert len(writes) == 2


def test_copy_asks_the_function_for_nothing(counted: dict[str, Counts]) -> None:
    assert counted["a copy of a settled event"]["function"] == 0


def test_short_look_costs_less_than_half_of_a_look(counted: dict[str, Counts]) -> None:
    assert counted["a short look"]["function"] == 0
    assert total(counted, "a short look") < total(counted, "a look with its claim") / 2


def test_states_are_logged_with_the_level_all_only(counted: dict[str, Counts]) -> None:
    for name in counted:
        assert total(counted, name, "ALL") > total(counted, name)


def test_mix_lies_between_its_cheapest_and_its_dearest_path(counted: dict[str, Counts]) -> None:
    of = {name: dollars(name, counts, "ERROR", PRICE) for name, counts in counted.items()}
    totals = [sum(items.values()) for items in of.values()]
    assert min(totals) < sum(mixed(of, PRICE).values()) < max(totals)


def test_fixed_part_counts_alarms_and_dashboard_of_the_template() -> None:
    assert fixed(PRICE)["alarms"] > 0
    assert fixed(PRICE)["dashboard"] in (0, 3)
