"""What needs the embedded AWS is marked, so that `make test-fast` deploys nothing."""

import pytest


def test_no_test_that_uses_the_stack_is_run_by_make_test_fast(
    request: pytest.FixtureRequest,
) -> None:
    forgotten = [
        item.nodeid
        for item in request.session.items
        if "embedded" in getattr(item, "fixturenames", ())
        and item.get_closest_marker("embedded") is None
    ]
    assert forgotten == []
