"""Writes the questions of `make prove` to AWS: `python -m proof.asked`; --check compares them.

The cases for TestState are the inputs of states in the scenarios and the results of their tasks;
AWS should answer as our own interpreter does. The rule and the policies come from the template, the
events from the examples of the contracts.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any
from unittest.mock import patch

from once_data_action import errors

from proof.asl.errors import Failure
from proof.asl.jsonata import Library
from proof.asl.machine import Machine
from proof.asl.one_state import Case, Watching, names_used, played
from proof.definition.asl import ROOT, SUBSTITUTIONS, definition, states
from proof.scenarios import asl_machine
from proof.scenarios.scenario import CASES, load
from proof.scenarios.stage import Stage
from proof.template import RESOURCES, TEMPLATE, decided, of_type, statements_of

Json = Any
PATH = ROOT / "proof" / "prove" / "asked.json"
_RUN = re.compile(r"at-\d+-[0-9a-f]{32}")
# AWS answers a moment after the question, by a clock of its own.
_LATER_MS = (-30_000, 30_000)
_WHERE = "us-east-1:123456789012"
_ARNS = {
    "AWS::SQS::Queue": "arn:aws:sqs:{where}:{name}",
    "AWS::Serverless::Function": "arn:aws:lambda:{where}:function:{name}",
    "AWS::Serverless::StateMachine": "arn:aws:states:{where}:stateMachine:{name}",
    "AWS::DynamoDB::Table": "arn:aws:dynamodb:{where}:table/{name}",
    "AWS::Logs::LogGroup": "arn:aws:logs:{where}:log-group:{name}:*",
    "AWS::S3::Bucket": "arn:aws:s3:::{bucket}",
}
_PARAMETERS = {
    "KmsKeyArn": f"arn:aws:kms:{_WHERE}:key/ours",
    "DestinationSecretArn": f"arn:aws:secretsmanager:{_WHERE}:secret:destination-AbCdEf",
}
_PSEUDO = {"Partition": "aws", "Region": "us-east-1", "AccountId": "123456789012"}


def everything() -> dict[str, Json]:
    return {
        "substitutions": dict(SUBSTITUTIONS),
        "states": list(cases()),
        "pattern": pattern(),
        "events": events(),
        "policies": policies(),
    }


def text() -> str:
    """A case on one line, so that a change shows as what it is."""
    parts = []
    for name, part in everything().items():
        if isinstance(part, list):
            lines = ",\n".join(_compact(one) for one in part)
            parts.append(f'"{name}": [\n{lines}\n]')
        else:
            parts.append(f'"{name}": {_compact(part)}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


def cases() -> Iterator[dict[str, Json]]:
    """The smallest case of each way through each state."""
    machine = Machine(definition(), Library(), draw=lambda: 0.0)
    shortest: dict[str, tuple[int, str, Case, Json]] = {}
    for case in _watched():
        kept = _only_what_is_used(case)
        expected = played(machine, kept)
        way = _way(kept, expected)
        size = len(_compact(asdict(kept)))
        # The order of the scenarios must not decide.
        rank = (size, _compact(asdict(kept)))
        if way in shortest and shortest[way][:2] <= rank:
            continue
        if all(
            _alike(expected, played(machine, replace(kept, clock_ms=kept.clock_ms + later)))
            for later in _LATER_MS
        ):
            shortest[way] = (*rank, kept, expected)
    for way in sorted(shortest):
        *_, case, expected = shortest[way]
        yield _written(way, case, expected)
    *_, failed, _ = shortest["RunAction CAUGHT_ERROR JudgeFailure catch 1 CALL_FAILED"]
    for way, error in _errors_of_functions(failed.clock_ms):
        case = replace(failed, error=error)
        yield _written(f"RunAction {way}", case, played(machine, case))


def _errors_of_functions(now_ms: int) -> Iterator[tuple[str, Failure]]:
    """An error as our function raises it, and one as another might, as Lambda reports them.

    The Catch finds the facts by a regular expression and $parse, "JSONata functions provided by
    Step Functions" in transforming-data.html. $match and $replace with one are JSONata's own
    (docs.jsonata.org/regex).
    """
    ours = errors.RateLimited('it said "later", for C:\\temp', status=429, retry_after_seconds=7)
    ours.requests, ours.ended_ms, ours.duration_ms = 1, now_ms, 40
    theirs = '{"sentence":"a caller\'s text","requests":0,"once":"1","durationMs":40}'
    for way, name, message in (
        ("reads the facts of our error", "RateLimited", str(ours)),
        ("reads nothing in the text of another error", "KeyError", theirs),
    ):
        said = {
            "errorMessage": message,
            "errorType": name,
            "requestId": "5d1a6c2e-0b3f-4a5e-9c5b-7f1e2d3c4b5a",
            "stackTrace": [
                '  File "/var/task/handler.py", line 97, in __call__\n    raise error\n'
            ],
        }
        yield way, Failure(name, json.dumps(said))


def _watched() -> Iterator[Case]:
    seen: list[Case] = []
    watching = type("_Watching", (Watching,), {"noted": staticmethod(seen.append)})
    with (
        patch.object(asl_machine, "Interpreter", watching),
        patch.object(asl_machine, "_interpreters", {}),
    ):
        for path in sorted(CASES.glob("*.yaml")):
            stage = Stage(load(path), organisation=path.stem)
            with asl_machine.set_for(stage) as machine:
                stage.play(machine)
    yield from seen


def _only_what_is_used(case: Case) -> Case:
    used = names_used(states()[case.state])
    kept = {name: value for name, value in case.variables.items() if name in used}
    kept = dict(sorted(kept.items()))
    given, result = _without_metadata(case.input), _without_metadata(case.result)
    return _with_stable_runs(replace(case, variables=kept, input=given, result=result))


def _without_metadata(value: Json) -> Json:
    """Every answer of a service carries it, and no state of ours reads it. Sets are in order."""
    if isinstance(value, list):
        return [_without_metadata(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        name: sorted(part) if name == "SS" else _without_metadata(part)
        for name, part in value.items()
        if not name.startswith("Sdk")
    }


def _with_stable_runs(case: Case) -> Case:
    raw = _compact(asdict(case))
    for number, run in enumerate(dict.fromkeys(_RUN.findall(raw)), start=1):
        raw = raw.replace(run, f"run-{number}")
    fields = json.loads(raw)
    error = type(case.error)(**fields["error"]) if case.error else None
    return Case(**{**fields, "error": error})


def _way(case: Case, expected: Json) -> str:
    """Names a path through a state."""
    verdict = expected.get("assigned", {}).get("verdict", {})
    seen = expected.get("assigned", {}).get("seen", {})
    output = expected.get("output") if isinstance(expected.get("output"), dict) else {}
    parts = [
        case.state,
        expected["status"],
        expected.get("next", "end"),
        *(f"{field} {expected[field]}" for field in ("catch", "retry") if field in expected),
        verdict.get("reason") or seen.get("claim") or output.get("reason") or "",
    ]
    return " ".join(part for part in parts if part)


def _alike(one: Json, other: Json) -> bool:
    """But for times, which move with the clock."""
    blurred = [re.sub(r"\b17[78]\d{7}(\d{3})?\b", "time", _compact(each)) for each in (one, other)]
    return blurred[0] == blurred[1]


def _written(way: str, case: Case, expected: Json) -> dict[str, Json]:
    state = states()[case.state]
    mocked = state["Type"] in ("Task", "Map")
    asked: dict[str, Json] = {
        "name": way,
        "state": case.state,
        "type": state["Type"],
        "clockMs": case.clock_ms,
        "input": case.input,
        "variables": dict(case.variables),
        "expected": expected,
    }
    if mocked and case.error:
        asked["error"] = {"error": case.error.error, "cause": case.error.cause}
        asked["used"] = case.used
    elif mocked:
        asked["result"] = case.result
    if "$states.context" in json.dumps({**state, "ItemProcessor": None}):
        if mocked:
            asked["execution"] = case.execution
        else:  # TestState takes a context only with a mock: what follows from it stays open
            own = state.get("Assign", {})
            for name in [name for name in own if "$states.context" in json.dumps(own[name])]:
                expected["assigned"].pop(name)
    if state["Type"] == "Map" and case.error:
        asked["causedBy"] = state["ItemProcessor"]["StartAt"]
    return asked


def pattern() -> dict[str, Json]:
    """The rule's, as the template's defaults make it."""
    rule = decided(RESOURCES["EventRule"]["Properties"]["EventPattern"], true={"TakesAllTopics"})
    return {
        **rule,
        "source": [{"prefix": TEMPLATE["Parameters"]["SourcePrefix"]["Default"]}],
    }


def events() -> list[dict[str, Json]]:
    """One of each family that Genesys Cloud sends: what a pattern looks at of it."""
    found = []
    for path in sorted((ROOT / "schemas" / "examples").glob("*.event.json")):
        example = json.loads(path.read_text())
        event = {name: value for name, value in example.items() if name != "detail"}
        if event.get("source", "").startswith(pattern()["source"][0]["prefix"]):
            found.append({"family": path.name.removesuffix(".event.json"), "event": event})
    return found


def policies() -> list[dict[str, Json]]:
    """Each role's statements on resources of made up names, with all that an option adds."""
    return [
        {
            "role": role,
            "statements": [
                {
                    name: _resource(part) if name == "Resource" else _plain(part)
                    for name, part in statement.items()
                }
                for statement in statements_of(role, true={"CreatesTable", "HasKey", "HasSecret"})
            ],
        }
        for role in of_type("AWS::IAM::Role")
    ]


def _plain(value: Json) -> Json:
    """With the intrinsics in its conditions filled in."""
    if isinstance(value, dict):
        if "Sub" in value:
            return _filled(value["Sub"])
        if "Ref" in value:
            return _PARAMETERS[value["Ref"]]
        return {name: _plain(part) for name, part in value.items()}
    return value


def _resource(value: Json) -> str:
    if isinstance(value, str):
        return value
    if "GetAtt" in value:
        return _arn(value["GetAtt"].removesuffix(".Arn"))
    if "Ref" in value:
        return _PARAMETERS.get(value["Ref"]) or _arn(value["Ref"])
    sub, given = value["Sub"], {}
    if not isinstance(sub, str):
        sub, given = sub[0], {"Owner": _PSEUDO["AccountId"]}
    return _filled(sub, given)


def _filled(sub: str, given: Mapping[str, str] | None = None) -> str:
    def named(found: re.Match[str]) -> str:
        name = found[1]
        if name.startswith("AWS::"):
            return _PSEUDO[name.removeprefix("AWS::")]
        return (given or {}).get(name) or _arn(name.removesuffix(".Arn"))

    return re.sub(r"\$\{([\w:.]+)\}", named, sub)


def _arn(name: str) -> str:
    kind = RESOURCES[name]["Type"]
    return _ARNS[kind].format(where=_WHERE, name=name, bucket=name.lower())


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def main(arguments: list[str]) -> int:
    wanted = text()
    if "--check" not in arguments:
        PATH.write_text(wanted, "utf-8")
        return 0
    if PATH.is_file() and PATH.read_text("utf-8") == wanted:
        return 0
    print(f"{PATH.relative_to(ROOT)} is not what the scenarios and the template say now.")
    print("Write it with: python -m proof.asked")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
