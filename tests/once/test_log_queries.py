"""The local stack counts records as the commands ask Logs Insights to."""

import json

from once.local.logs_and_metrics import _COUNT, count_lines


def test_events_are_counted_by_family() -> None:
    said = ({"family": "a"}, {"family": "a"}, "no object", {"family": "a", "outcome": "RETRY"})
    records = [{"@message": json.dumps(line), "_timestamp_ms": ms} for ms, line in enumerate(said)]
    query = _COUNT.fullmatch(
        'filter ispresent(family) and family != "b" and outcome != "RETRY"'
        " | stats count(*) as events, max(@timestamp) as last by family, source"
    )
    assert query is not None
    assert [*count_lines(query[1], query[2], records)] == [{"family": "a", "events": 2, "last": 1}]
