"""Does each event act once at a destination? A function takes the place of one, and counts."""

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from once.errors import OnceError
from once.lines import read_lines
from once.local.deploy import local_parameters
from once.operate import log
from once.operate.canaries import Canaries
from once.outcomes import Outcome
from once.project import EXAMPLE
from once.records import OutcomeRecord, Records, settled
from proof.prove.messages import send, settle
from proof.prove.question import Question, UnansweredError
from proof.prove.site import Site
from proof.prove.throwaway import Deployed, call, created

Json = Any
_CODE = Path(__file__).with_name("sink_function.py")
_EVENTS, _EVENTS_BROKEN, _COPIES = 40, 8, 3
_ORGANISATION = re.compile(r"(?<=genesys\.com/cloud/)[^/\"]+")


def questions(stack: Deployed) -> Iterator[Question]:
    yield Question(
        name="deployed: each event acts once at a destination",
        guards="however copies meet, and calls fail or take long, a destination sees an event once",
        ask=partial(_acted_once, stack),
        expected={"not settled": 0, "acted twice": 0, "recorded otherwise": 0},
    )


def _acted_once(stack: Deployed, site: Site, broken: bool) -> Json:
    """Lets the stack invoke the sink during this question. If broken, the claims are deleted before
    the copies arrive."""
    name = f"{site.run}-sink"
    created(site, name, json.dumps(_template(name, site.place.is_local)))
    function = stack.client("lambda").get_function_configuration(FunctionName=name)
    call(stack, site, function["FunctionArn"])
    try:
        seen = _seen(stack, site, name, broken)
    except Exception:  # if it is interrupted, the stack is deleted as it is
        _back(stack, site)
        raise
    _back(stack, site)
    return seen


def _back(stack: Deployed, site: Site) -> None:
    """Lets the stack invoke its own function again, so that later questions ask that one."""
    try:
        call(stack, site, "")
    except Exception as error:
        raise OnceError(f"The stack still calls the function of one question: {error}") from error


def _seen(stack: Deployed, site: Site, table: str, broken: bool) -> Json:
    events = [
        Canaries.create(fails_for_ms=0).good for _ in range(_EVENTS_BROKEN if broken else _EVENTS)
    ]
    sent_ms = log.now_ms()
    ids = [send(stack, event.body) for event in events]
    if broken:
        _forget(stack, _ends(ids, settle(stack, site, sent_ms, ids)))
    else:
        organisation = str(uuid.uuid4())  # for which nothing of the story has acted yet
        lines = read_lines(EXAMPLE)
        ids += [send(stack, _ORGANISATION.sub(organisation, line.text)) for line in lines]
    ids += [send(stack, event.copy()) for _ in range(_COPIES - 1) for event in events]
    records = settle(stack, site, sent_ms, ids)
    ends = _ends(ids, records)
    acted = [end for end in ends if end.outcome is Outcome.PROCESSED]
    rows = _rows(stack, table, {end.pk for end in acted})
    if not broken and all(row["calls"] == row["acts"] for row in rows.values()):
        raise UnansweredError("no call failed, so that none was repeated")
    return {
        "not settled": len(ids) - len(ends),
        "acted twice": sum(row["acts"] > 1 for row in rows.values()),
        "recorded otherwise": len(
            {end.idempotency_key for end in acted}
            ^ {key for key, row in rows.items() if row["acts"]}
        ),
    }


def _ends(ids: Sequence[str], records: Records) -> list[OutcomeRecord]:
    return [end for message_id in ids if (end := settled(message_id, records)) is not None]


def _forget(stack: Deployed, acted: Sequence[OutcomeRecord]) -> None:
    for end in acted:
        stack.client("dynamodb").delete_item(
            TableName=stack.outputs["ClaimTableName"],
            Key={"pk": {"S": end.pk}, "sk": {"S": end.sk}},
        )


def _rows(stack: Deployed, table: str, subjects: set[str | None]) -> Mapping[str, dict[str, int]]:
    """Counts how often the sink was invoked, and acted, under each key of these subjects."""
    pages = stack.client("dynamodb").get_paginator("scan")
    return {
        item["key"]["S"]: {
            "calls": len(item["calls"]["SS"]),
            "acts": len(item.get("acts", {}).get("SS", [])),
        }
        for page in pages.paginate(TableName=table, ConsistentRead=True)
        for item in page["Items"]
        if item["pk"]["S"] in subjects
    }


def _template(name: str, is_local: bool) -> Json:
    """Its log group is the stack's, or it would stay."""
    trusted = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}}
    may = {"Effect": "Allow", "Action": "dynamodb:UpdateItem"}
    resources = {
        "Table": {
            "Type": "AWS::DynamoDB::Table",
            "Properties": {
                "TableName": name,
                "BillingMode": "PAY_PER_REQUEST",
                "AttributeDefinitions": [{"AttributeName": "key", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "key", "KeyType": "HASH"}],
            },
        },
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": _policy({**trusted, "Action": "sts:AssumeRole"}),
                "Policies": [
                    {
                        "PolicyName": "counts",
                        "PolicyDocument": _policy(
                            {**may, "Resource": {"Fn::GetAtt": ["Table", "Arn"]}}
                        ),
                    }
                ],
            },
        },
        "Log": {
            "Type": "AWS::Logs::LogGroup",
            "Properties": {"LogGroupName": f"/aws/lambda/{name}", "RetentionInDays": 1},
        },
        "Function": {
            "Type": "AWS::Lambda::Function",
            "DependsOn": "Log",
            "Properties": {
                "FunctionName": name,
                "Runtime": local_parameters()["PythonRuntime"],
                "Handler": "index.handler",
                "Code": {"ZipFile": _CODE.read_text("utf-8")},
                "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                "Timeout": 3 if is_local else 10,
                "Environment": {"Variables": {"TABLE": name}},
            },
        },
    }
    return {"Resources": resources}


def _policy(statement: Json) -> Json:
    return {"Version": "2012-10-17", "Statement": [statement]}
