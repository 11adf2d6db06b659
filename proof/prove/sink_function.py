"""The function that replaces the destination in `make prove`: it counts its acts by their
Idempotency-Key, fails some keys at first, and is slow for others.

It runs alone, as the inline code of a Lambda, by the contract of docs/data-action.md.
"""

import json
import os
import time
from typing import Any

import boto3

_DYNAMODB = boto3.client("dynamodb")
_FAILS, _SLOW = 0, 1
_KINDS = 4
_SLOW_SECONDS = 1.0


class Failed(Exception):  # noqa: N818 - the state machine reads this name
    """Asked again later, with the same key."""


class TooLate(Exception):  # noqa: N818
    """Nothing was done: the time for it was over."""


def handler(request: dict[str, Any], _: object) -> dict[str, Any]:
    if time.time() * 1_000 >= request["deadlineMs"]:
        raise TooLate(_message("nothing was counted", 0))
    key, pk = request["idempotencyKey"], request["event"]["key"]["pk"]
    calls = request["retry"] + 1
    call = f"{request['execution']}/{calls}"
    first = _noted(key, pk, "calls", call) == {call}
    kind = int(key[:4], 16) % _KINDS
    if first and kind == _FAILS:
        raise Failed(_message("this key fails at first", calls))
    if kind == _SLOW:
        time.sleep(_SLOW_SECONDS)
    _noted(key, pk, "acts", call)
    return {"version": "2", "result": "ACTED", "requests": calls}


def _message(sentence: str, requests: int) -> str:
    facts = {"once": "1", "sentence": sentence, "requests": requests}
    return json.dumps(facts, separators=(",", ":"))


def _noted(key: str, pk: str, what: str, call: str) -> set[str]:
    """A set, since a write that is repeated must not count twice."""
    answer = _DYNAMODB.update_item(
        TableName=os.environ["TABLE"],
        Key={"key": {"S": key}},
        UpdateExpression="ADD #what :call SET pk = :pk",
        ExpressionAttributeNames={"#what": what},
        ExpressionAttributeValues={":call": {"SS": [call]}, ":pk": {"S": pk}},
        ReturnValues="UPDATED_NEW",
    )
    return set(answer["Attributes"][what]["SS"])
