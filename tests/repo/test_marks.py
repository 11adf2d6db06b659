"""Tests that deploy something are marked, and no test counts seconds."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def test_no_test_that_uses_the_stack_is_run_by_make_test_fast(
    request: pytest.FixtureRequest,
) -> None:
    forgotten = [
        item.nodeid
        for item in request.session.items
        if "local" in getattr(item, "fixturenames", ()) and item.get_closest_marker("local") is None
    ]
    assert forgotten == []


@given(st.just(0.25))
@settings(max_examples=1)
def test_no_property_fails_for_a_machine_that_does_something_else_meanwhile(seconds: float) -> None:
    """Without a profile of ours an example may take 200 ms."""
    time.sleep(seconds)
