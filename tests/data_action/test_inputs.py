"""The inputs of a data action come from the parts of the event that its route names."""

import pytest
from once_data_action.inputs import COMMON, needs_body, read_inputs

from tests.data_action.support import event

BODY = {
    "deep": {"list": [{"name": "first"}, {"name": "second"}]},
    "Customer Tier": "gold",
    "flag": False,
    "nothing": None,
    "scalar": "text",
}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("idempotencyKey", "key"),
        ("subject.id", "c1"),
        ("occurredAtMs", 1_777_888_800_123),
        ("ids.absentId", None),
        ("body.deep.list.1.name", "second"),
        ("body.deep.list.7.name", None),
        ("body.deep.list.name", None),
        ("body.Customer Tier", "gold"),
        ("body.flag", False),
        ("body.nothing", None),
        ("body.deep", '{"list":[{"name":"first"},{"name":"second"}]}'),
        ("body.scalar.deeper", None),
    ],
)
def test_input_is_read_from_its_place(source: str, wanted: object) -> None:
    inputs = read_inputs({"value": source}, event(), "key", BODY)
    assert inputs == ({} if wanted is None else {"value": wanted})


def test_common_inputs_carry_the_key_and_the_time_and_need_no_body() -> None:
    assert {"idempotencyKey", "occurredAtMs"} <= set(COMMON.values())
    assert not needs_body(COMMON)
    assert needs_body({"why": "body.disconnectType"})
