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


def _ask_for_the_rights_of_aws() -> None:
    """ministack leaves LeadingKeys out of a request's condition keys, asks for a right of each
    batch's own, and takes a bus for the resource where a request names its rule as Rule. On AWS a
    request on items has the values of their partition keys there, SQS's batch actions need the
    right to the single one, and ListTargetsByRule is about the rule.

    docs.aws.amazon.com: DynamoDB, "Using IAM policy conditions for fine-grained access control";
    SQS, "Amazon SQS API permissions: Actions and resource reference"; Service Authorization
    Reference, "Actions, resources, and condition keys for Amazon EventBridge".
    """
    resource = iam_actions.extract_resource_arn
    context, action = iam_actions.dynamodb_service_context, iam_actions.extract_iam_action

    def context_with_keys(body: bytes) -> dict[str, Any]:
        known: dict[str, Any] = context(body)
        asked = json.loads(body or b"{}")
        item = asked.get("Key") or asked.get("Item") or {}
        table = dynamodb._tables.get(str(asked.get("TableName")).rpartition("/")[2])
        key = item.get(table["pk_name"]) if table else None
        return known | ({"dynamodb:LeadingKeys": list(key.values())} if key else {})

    def single_action(service: str, *request: Any) -> str | None:
        named: str | None = action(service, *request)
        return named.removesuffix("Batch") if named and service == "sqs" else named

    def resource_with_rule(
        service: str, method: str, path: str, headers: dict[str, Any], body: bytes, *more: Any
    ) -> Any:
        asked = json.loads(body or b"{}") if service == "events" else {}
        if "Rule" in asked:
            body = json.dumps({**asked, "Name": asked["Rule"]}).encode()
        return resource(service, method, path, headers, body, *more)

    iam_actions.extract_resource_arn = resource_with_rule
    iam_actions.dynamodb_service_context = context_with_keys
    iam_actions.extract_iam_action = single_action


if __name__ == "__main__":
    server.put_right()
    _ask_for_the_rights_of_aws()
    server.serve(is_known)
