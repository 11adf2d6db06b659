"""The estimate of what Step Functions logs."""

import pytest

from bench import recorded
from bench.machine_log import COUNTED, OVERHEAD_BYTES, compared, size

ACTED = {
    "states": [
        ["Pass", "OpenBatch", None],
        ["Map", "SettleEvents", None],
        ["Task", "ClaimKey", 0],
        ["Task", "RunAction", 0],
    ],
    "tasks": [
        ["TaskScheduled", "arn:aws:states:::dynamodb:putItem", ""],
        ["TaskSucceeded", "arn:aws:states:::dynamodb:putItem", ""],
        ["TaskScheduled", "arn:aws:states:::lambda:invoke", ""],
        ["TaskSucceeded", "arn:aws:states:::lambda:invoke", ""],
    ],
}
REFUSED = {
    "states": [["Map", "SettleEvents", None], ["Task", "ClaimKey", 0]],
    "tasks": [
        ["TaskScheduled", "arn:aws:states:::dynamodb:putItem", ""],
        [
            "TaskFailed",
            "arn:aws:states:::dynamodb:putItem",
            "DynamoDB.ConditionalCheckFailedException",
        ],
    ],
}


def test_level_all_logs_each_state_twice_and_each_task_three_times():
    events, log_bytes = size(ACTED, "ALL")
    # started, succeeded; 4 states; 2 tasks; the map's two lines and two for its one iteration
    assert events == 2 + 4 * 2 + 2 * 3 + 2 + 2
    assert 250 * events < log_bytes < 450 * events


def test_each_round_has_a_map_of_its_own_that_counts_from_0():
    one_round = size(ACTED, "ALL")[0]
    again = {"states": ACTED["states"] + ACTED["states"][1:], "tasks": ACTED["tasks"] * 2}
    # 3 states; 2 tasks; the map's two lines and two for its one iteration
    assert size(again, "ALL")[0] - one_round == 3 * 2 + 2 * 3 + 2 + 2


def test_level_error_logs_nothing_of_a_success_and_one_line_of_a_refused_claim():
    assert size(ACTED, "ERROR") == (0, 0)
    events, log_bytes = size(REFUSED, "ERROR")
    assert events == 1
    assert log_bytes > OVERHEAD_BYTES


def test_level_off_logs_nothing():
    assert size(REFUSED, "OFF") == (0, 0)


def test_what_an_event_costs_is_its_own_and_its_share_of_the_batch(
    monkeypatch: pytest.MonkeyPatch,
):
    counted = dict.fromkeys(COUNTED, 7.0)
    was = {"batch": dict.fromkeys(COUNTED, 10.0), "unique": counted, "collapsed": counted}
    now = {"batch": dict.fromkeys(COUNTED, 5.0), "unique": counted, "collapsed": counted}
    monkeypatch.setattr(recorded, "read", lambda _: {"before": {"parts": was}, "parts": now})
    found = {(event, words): values for event, words, values in compared()}
    assert found["an event that acts", "states entered"] == [17, 12, 8, 7.5]
    assert found["a copy in its batch", "states entered"] == [None, None, 8, 7.5]
    assert found["a copy of one in work", "states entered"] == [None] * 4
