"""The estimate of what Step Functions logs."""

import json

from bench.machine_log import OVERHEAD_BYTES, data_bytes, size

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


def test_payloads_are_logged_with_each_state_and_only_where_states_are():
    def more(execution: dict[str, object], level: str) -> int:
        noted = {**execution, "dataBytes": 5_000}
        return size(noted, level, payloads=True)[1] - size(noted, level)[1]

    assert more(ACTED, "ALL") == 5_000
    assert more(REFUSED, "ERROR") == more(REFUSED, "OFF") == 0


def test_a_payload_takes_as_much_room_as_its_text_in_a_line_takes():
    event = {"text": 'says "hallo" to Jürgen', "at": [1, 2]}
    line = {"name": "ClaimKey"}
    inner = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
    whole = line | {"input": inner, "inputDetails": {"truncated": False}}
    bare, full = (
        len(json.dumps(one, separators=(",", ":"), ensure_ascii=False).encode())
        for one in (line, whole)
    )
    assert data_bytes("input", event) == full - bare
    variables = data_bytes("assignedVariables", {"event": event, "made": 0})
    assert variables > data_bytes("output", event) > data_bytes("parameters", event)
