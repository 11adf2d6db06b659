"""Events that try to steer the terminal of whoever looks at them, through the deployed path."""

import json
from typing import Any

import pytest

from proof.deployed import DeployedStack
from proof.events import customer_start
from tests.once.test_screen import steering
from tests.operate.conftest import once
from tests.operate.support import destination_answers

pytestmark = pytest.mark.local

NAME = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp\u2066x\u2069\x7f\x85\u2028[red]:warning:\r\n-"
TRICKS = f"{NAME}[/]"


def hostile(conversation: str) -> dict[str, Any]:
    event = customer_start(conversation + NAME, note=TRICKS)
    event["id"] = TRICKS
    event["detail"]["eventBody"]["mediaType"] = TRICKS
    return event


def home_made(conversation: str) -> dict[str, Any]:
    return {
        "id": conversation,
        "detail-type": "Conversation Status Change",
        "source": f"ours/{TRICKS}",
        "detail": {"conversationId": conversation + NAME, "status": TRICKS, "id": TRICKS},
    }


def test_no_command_lets_an_event_steer_the_terminal(operated: DeployedStack) -> None:
    names = ["h-acted", "h-refused"]
    destination_answers(operated, f"h-refused{NAME}", 422)
    # SQS itself takes no C0 controls but in JSON's escapes.
    broken = f'{{"detail-type": "{TRICKS}'.translate({0x1B: None, 0x07: None})
    operated.settle(*map(hostile, names), home_made("h-own"), json.dumps(TRICKS), broken)
    operated.client("sqs").send_message(
        QueueUrl=operated.outputs["RuleDeadLettersUrl"],
        MessageBody=json.dumps(hostile("h-dead")),
        MessageAttributes={
            "ERROR_CODE": {"DataType": "String", "StringValue": "NO\x9bPERMISSIONS\u202e"}
        },
    )
    rows = operated.client("dynamodb").scan(TableName=operated.outputs["ClaimTableName"])["Items"]
    keys = [f"{row['pk']['S']}/{row['sk']['S']}" for row in rows if "/h-" in row["pk"]["S"]]
    assert len(keys) == 2, "the subject of one's own event is text, and stands as a hash"
    subjects = [key.split("/")[2] for key in keys]
    parked = [one["messageId"] for one in once("parked", "list", "--json").json["messages"]]
    commands = [
        ["status"],
        ["destination"],
        ["parked", "list"],
        ["parked", "show", *parked],
        ["dead-letters", "list"],
        *(["explain", thing] for thing in (*subjects, *keys, f"nobody{TRICKS}")),
    ]
    assert [once("explain", thing).code for thing in (*subjects, *keys)] == [0] * (
        len(subjects) + len(keys)
    )
    for command in commands:
        for form in ([], ["--json"]):
            answer = once(*command, *form)
            assert answer.out or answer.err
            assert steering(answer.out + answer.err) <= {"\n"}, command
    shown = once("parked", "show", *parked).out
    assert "\\u001b[2J" in shown
    assert "[red]:warning:" in shown
    assert "-[/]" in shown
    for question in (["parked", "drop", *parked], ["forget", keys[0]], ["dead-letters", "replay"]):
        asked = once(*question, says="n\n")
        assert "Nothing was changed" in asked.err
        assert steering(asked.out + asked.err) <= {"\n"}, question
    once("parked", "drop", *parked, "--yes")
    once("dead-letters", "replay", "--yes")
