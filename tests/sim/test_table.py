"""Conditions and updates agree with moto's evaluator."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws

from once.session import open_anonymous_session
from proof.sim import deployed, world
from proof.sim.table import RefusedError, Request, Row, key_of, written
from proof.sim.walk import Walk

TABLE = "claims"


@pytest.fixture
def client() -> Iterator[Any]:
    with mock_aws():
        made = open_anonymous_session().client(
            "dynamodb",
            region_name="us-east-1",
            aws_access_key_id="testing",
            aws_secret_access_key="testing",
        )
        made.create_table(
            TableName=TABLE,
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        yield made


def by_moto(client: Any, verb: str, request: Request, row: Row | None) -> Row | None:
    pk, sk = key_of(request)
    place = {"pk": {"S": pk}, "sk": {"S": sk}}
    client.delete_item(TableName=TABLE, Key=place)
    if row is not None:
        client.put_item(TableName=TABLE, Item=row)
    getattr(client, f"{verb}_item")(**{**request, "TableName": TABLE})
    after: Row | None = client.get_item(TableName=TABLE, Key=place).get("Item")
    for value in (after or {}).values():
        if "SS" in value:
            value["SS"].sort()
    return after


def test_writes_of_walks_end_as_with_moto(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = defaultdict(list)

    def noted(verb: str, request: Request, row: Row | None) -> Row | None:
        after, is_refused = None, False
        try:
            after = written(verb, request, row)
        except RefusedError:
            is_refused = True
        expressions = (request.get("ConditionExpression"), request.get("UpdateExpression"))
        samples[verb, expressions, is_refused].append((request, row, after))
        if is_refused:
            raise RefusedError
        return after

    monkeypatch.setattr(world, "written", noted)
    for seed in (2, 15, 22, 26):
        Walk(seed, deployed.machine()).broken_promise()
    assert len(samples) > 12
    for (verb, _, is_refused), writes in samples.items():
        for request, row, after in writes[:: len(writes) // 8 + 1]:
            if is_refused:
                with pytest.raises(client.exceptions.ConditionalCheckFailedException):
                    by_moto(client, verb, request, row)
            else:
                assert by_moto(client, verb, request, row) == after, request
