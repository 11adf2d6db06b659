"""Does IAM give each role what it uses, and nothing of what the others use?"""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

from proof.prove.files import asked
from proof.prove.question import Question
from proof.prove.site import Site

Json = Any
_ALL = {"Effect": "Allow", "Action": "*", "Resource": "*"}
_ALLOWED = "allowed"
_DENIED = ("implicitDeny", "explicitDeny")
# A partition key that is no row of the pace: a claim's.
_A_CLAIM = "1f0e6a52/conversation/c0de0001"


def questions() -> Iterator[Question]:
    roles = {one["role"]: one["statements"] for one in asked()["policies"]}
    for role, statements in roles.items():
        for statement in statements:
            yield from _of_statement(role, statements, statement)
        yield from _of_others(role, statements, roles)


def _of_statement(role: str, statements: list[Json], statement: Json) -> Iterator[Question]:
    context = _context(statement.get("Condition", {}))
    target = _target(statement["Resource"])
    yield Question(
        name=f"policy {role} {_short(target)} {' '.join(_actions(statement))}",
        guards=f"{role} may do what it does",
        ask=partial(_simulate, statements, _denying(statements, statement), statement, context),
        expected=dict.fromkeys(_actions(statement), _ALLOWED),
    )
    if "Condition" in statement:
        for what, wrong in {"other keys": _wrong(context), "no keys": []}.items():
            yield Question(
                name=f"policy {role} {_short(target)} with {what}",
                guards=f"{role} can touch nothing but what its condition names",
                ask=partial(_refuses, statements, statement, wrong, context),
                expected=dict.fromkeys(_actions(statement), "denied"),
            )


def _of_others(role: str, statements: list[Json], roles: dict[str, Json]) -> Iterator[Question]:
    """Asks for each resource if the role may do what only other roles may."""
    own = {(action, one["Resource"]) for one in statements for action in _actions(one)}
    strange: dict[str, set[str]] = {}
    for others in roles.values():
        for one in others:
            for action in _actions(one):
                if (action, one["Resource"]) not in own and one["Resource"] != "*":
                    strange.setdefault(one["Resource"], set()).add(action)
    for resource, actions in sorted(strange.items()):
        asked_for = {"Action": sorted(actions), "Resource": resource}
        yield Question(
            name=f"policy {role} not {_short(_target(resource))} {' '.join(sorted(actions))}",
            guards=f"{role} may do nothing that another role does",
            ask=partial(_simulate, statements, [*statements, _ALL], asked_for, []),
            expected=dict.fromkeys(sorted(actions), "denied"),
        )


def _refuses(
    statements: list[Json],
    statement: Json,
    wrong: list[Json],
    right: list[Json],
    site: Site,
    broken: bool,
) -> Json:
    """The condition's keys as they should be are what must not be refused."""
    context = right if broken else wrong
    return _simulate(statements, statements, statement, context, site, broken)


def _simulate(
    statements: list[Json],
    broken_statements: list[Json],
    asked_for: Json,
    context: list[Json],
    site: Site,
    broken: bool,
) -> Json:
    document = {
        "Version": "2012-10-17",
        "Statement": broken_statements if broken else statements,
    }
    answer = site.client("iam").simulate_custom_policy(
        PolicyInputList=[json.dumps(document)],
        ActionNames=_actions(asked_for),
        ResourceArns=[_target(asked_for["Resource"])],
        ContextEntries=context,
    )
    decisions = {one["EvalActionName"]: one["EvalDecision"] for one in answer["EvaluationResults"]}
    return {action: _decided(decision) for action, decision in decisions.items()}


def _decided(decision: str) -> str:
    return "denied" if decision in _DENIED else decision


def _denying(statements: list[Json], statement: Json) -> list[Json]:
    return [{**one, "Effect": "Deny"} if one == statement else one for one in statements]


def _actions(statement: Json) -> list[str]:
    actions = statement["Action"]
    return [actions] if isinstance(actions, str) else list(actions)


def _target(resource: str) -> str:
    """A resource that the pattern of a statement stands for."""
    return resource if resource == "*" else resource.replace("*", "one")


def _short(resource: str) -> str:
    return resource.rpartition(":")[2] if resource != "*" else "*"


def _context(condition: Json) -> list[Json]:
    """A request of which the condition holds. Null only says that there must be a key."""
    entries = []
    for operator, keys in condition.items():
        for key, values in keys.items():
            if operator == "Null":
                continue
            kind = "stringList" if operator.startswith("ForAllValues") else "string"
            values = [values] if isinstance(values, str) else values
            entries.append(
                {"ContextKeyName": key, "ContextKeyValues": values, "ContextKeyType": kind}
            )
    return entries


def _wrong(context: list[Json]) -> list[Json]:
    return [{**entry, "ContextKeyValues": [_A_CLAIM]} for entry in context]
