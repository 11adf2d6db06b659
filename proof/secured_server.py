"""Starts the emulator for tests of IAM: it needs the permissions that AWS needs, and takes session
tokens that its STS issued as well."""

import json
import os
from typing import Any

from ministack.core import iam_actions
from ministack.services import dynamodb, sts

from once.local import server
from once.ports import is_key


def is_known(token: str) -> bool:
    issued = [str(session.get("SessionToken")) for session in list(sts._sessions.values())]
    return any(is_key(token, one) for one in [os.environ["AWS_SESSION_TOKEN"], *issued])


def _put_keys_into_the_context() -> None:
    """ministack leaves LeadingKeys out of a request's condition keys. On AWS a request on items has
    the values of their partition keys there: DynamoDB, "Using IAM policy conditions for
    fine-grained access control".
    """
    context = iam_actions.dynamodb_service_context

    def context_with_keys(body: bytes) -> dict[str, Any]:
        known: dict[str, Any] = context(body)
        asked = json.loads(body or b"{}")
        item = asked.get("Key") or asked.get("Item") or {}
        table = dynamodb._tables.get(str(asked.get("TableName")).rpartition("/")[2])
        key = item.get(table["pk_name"]) if table else None
        return known | ({"dynamodb:LeadingKeys": list(key.values())} if key else {})

    iam_actions.dynamodb_service_context = context_with_keys


if __name__ == "__main__":
    server.put_right()
    _put_keys_into_the_context()
    server.serve(is_known)
