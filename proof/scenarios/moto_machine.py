"""The state machine on moto, in this process: the second, independent interpreter of the ASL.

moto interprets the definition; what it lacks is put in around it: a JSONata engine, synchronous
executions, a Lambda that can fail, AWS's error names, and the scenario's clock.
"""

import copy
import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from types import SimpleNamespace
from typing import Any, ClassVar
from unittest.mock import patch

import boto3
from jsonata.jsonata import Jsonata  # type: ignore[import-untyped]
from moto import mock_aws
from moto.core import DEFAULT_ACCOUNT_ID
from moto.stepfunctions.parser.api import HistoryEventType, TaskFailedEventDetails
from moto.stepfunctions.parser.asl.component.common.assign.assign_decl import AssignDecl
from moto.stepfunctions.parser.asl.component.common.error_name.error_equals_decl import (
    ErrorEqualsDecl,
)
from moto.stepfunctions.parser.asl.component.common.error_name.error_name import ErrorName
from moto.stepfunctions.parser.asl.component.common.error_name.failure_event import (
    FailureEvent,
    FailureEventException,
)
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name import (
    StatesErrorName,
)
from moto.stepfunctions.parser.asl.component.common.error_name.states_error_name_type import (
    StatesErrorNameType,
)
from moto.stepfunctions.parser.asl.component.common.retry import retrier_decl
from moto.stepfunctions.parser.asl.component.common.timeouts.timeout import TimeoutSeconds
from moto.stepfunctions.parser.asl.component.state.exec.execute_state import ExecutionState
from moto.stepfunctions.parser.asl.component.state.exec.state_map.iteration import (
    iteration_worker,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_map.state_map import StateMap
from moto.stepfunctions.parser.asl.component.state.exec.state_task import lambda_eval_utils
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service import (
    state_task_service_aws_sdk,
    state_task_service_dynamodb,
    state_task_service_lambda,
    state_task_service_sqs,
)
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service import (  # noqa: E501
    StateTaskService,
)
from moto.stepfunctions.parser.asl.component.state.wait.wait_function import wait_function
from moto.stepfunctions.parser.asl.eval import states, variable_store
from moto.stepfunctions.parser.asl.eval.event.event_detail import EventDetails
from moto.stepfunctions.parser.asl.eval.variable_store import VariableStore
from moto.stepfunctions.parser.asl.jsonata import jsonata
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.backend.execution import SyncExecution
from moto.stepfunctions.parser.backend.execution_worker import ExecutionWorker

from proof.definition.asl import SUBSTITUTIONS, definition_json
from proof.scenarios.scenario import Settings
from proof.scenarios.stage import LambdaError, Stage, Task

# It prints the whole parsed definition with every error, and errors are what the scenarios make.
logging.getLogger("moto.stepfunctions").setLevel(logging.CRITICAL)

REGION = "us-east-1"
_UNCATCHABLE = {"States.Runtime", "States.DataLimitExceeded"}
_STATE_BYTES = 256 * 1024
_TABLE = SUBSTITUTIONS["ClaimTable"]
_CALLERS = (state_task_service_dynamodb, state_task_service_sqs, state_task_service_aws_sdk)
_TASKS = (
    state_task_service_dynamodb.StateTaskServiceDynamoDB,
    state_task_service_sqs.StateTaskServiceSqs,
    state_task_service_lambda.StateTaskServiceLambda,
    state_task_service_aws_sdk.StateTaskServiceAwsSdk,
)


class MotoMachine:
    """Implements `stage.Machine`; made by `set_for`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._dynamodb, self._sqs = _client("dynamodb"), _client("sqs")
        key = [("pk", "HASH"), ("sk", "RANGE")]
        self._dynamodb.create_table(
            TableName=_TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": n, "AttributeType": "S"} for n, _ in key],
            KeySchema=[{"AttributeName": n, "KeyType": t} for n, t in key],
        )
        self._parking_url = SUBSTITUTIONS["ParkingQueueUrl"]
        created = self._sqs.create_queue(QueueName=self._parking_url.rpartition("/")[2])
        assert created["QueueUrl"] == self._parking_url
        logs = _client("logs")
        logs.create_log_group(logGroupName=SUBSTITUTIONS["OutcomeLogGroup"])
        logs.create_log_stream(
            logGroupName=SUBSTITUTIONS["OutcomeLogGroup"],
            logStreamName=SUBSTITUTIONS["OutcomeLogStream"],
        )

    def execute(self, run: str, batch: list[dict[str, Any]]) -> dict[str, Any]:
        # An id of the form that Express executions have on AWS.
        execution = SyncExecution(
            name=run,
            sm_type="EXPRESS",
            role_arn="arn:aws:iam::123456789012:role/machine",
            exec_arn=f"arn:aws:states:{REGION}:{DEFAULT_ACCOUNT_ID}:express:dedupe:{run}:{run}",
            account_id=DEFAULT_ACCOUNT_ID,
            region_name=REGION,
            state_machine=_state_machine(self._settings),
            start_date="2026-01-01T00:00:00Z",
            cloud_watch_logging_session=None,
            input_data=json.dumps(batch),
            activity_store={},
        )
        execution.start()
        return {
            "status": str(execution.sync_execution_status.value),
            "output": execution.output,
            "error": execution.error,
            "cause": execution.cause,
        }

    @property
    def dynamodb(self) -> Any:
        return self._dynamodb

    def put_row(self, item: dict[str, Any]) -> None:
        self._dynamodb.put_item(TableName=_TABLE, Item=item)

    def rows(self) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self._dynamodb.scan(TableName=_TABLE)["Items"]
        return items

    def parked(self) -> list[dict[str, Any]]:
        received = self._sqs.receive_message(QueueUrl=self._parking_url, MaxNumberOfMessages=10)
        return [json.loads(message["Body"]) for message in received.get("Messages", [])]


@contextmanager
def set_for(stage: Stage) -> Iterator[MotoMachine]:
    with ExitStack() as stack:
        stack.enter_context(mock_aws())
        for module in _CALLERS:
            stack.enter_context(
                patch.object(module, "boto_client_for", lambda service, **_: _client(service))
            )
        for task in _TASKS:
            asking = _asking(stage, task._eval_service_task)
            stack.enter_context(patch.object(task, "_eval_service_task", asking))
        for state in (ExecutionState, *_TASKS):
            stack.enter_context(patch.object(state, "_from_error", _naming(state._from_error)))
        stack.enter_context(
            patch.object(lambda_eval_utils, "_invoke_lambda_function", _calling(stage))
        )
        stack.enter_context(_documented_limits())
        stack.enter_context(_sdk_names())
        stack.enter_context(_engine())
        yield MotoMachine(stage.scenario.settings)


def _asking(stage: Stage, call: Callable[..., None]) -> Callable[..., None]:
    """The call, with the stage asked before and after it."""

    def ask(
        self: Any, env: Any, resource_runtime_part: Any, normalised_parameters: Any, **rest: Any
    ) -> None:
        store, context = env.variable_store, env.states.context_object.context_object_data

        def task() -> Task:
            return Task(
                run=context["Execution"]["Id"].rpartition(":")[2],
                state=context["State"]["Name"],
                message=_variable(store, "event").get("messageId"),
                arguments=normalised_parameters,
                now_ms=store.clock_ms,
            )

        first = stage.before(task())
        store.clock_ms += first.takes_ms
        if first.error:
            raise TaskError(first.error, first.cause)
        if len(json.dumps(normalised_parameters, default=bytes.decode)) > _STATE_BYTES:
            raise TaskError("States.DataLimitExceeded", "the arguments of a task")
        failed: Exception | None = None
        try:
            call(self, env, resource_runtime_part, normalised_parameters, **rest)
        except Exception as error:
            failed = error
        then = stage.after(task(), _said(self._from_error(env=env, ex=failed)) if failed else None)
        store.clock_ms += then.takes_ms
        if then.error:
            raise TaskError(then.error, then.cause)
        if failed:
            raise failed

    return ask


def _said(failure: FailureEvent) -> tuple[str, str]:
    (details,) = failure.event_details.values()
    return details["error"], details["cause"]


class TaskError(Exception):
    """An error by the name that Step Functions has for it."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(f"{name}: {cause}")
        self.name = name
        self.cause = cause


def _naming(name: Callable[..., FailureEvent]) -> Callable[..., FailureEvent]:
    """moto calls a failed expression States.Runtime, and in its DynamoDB task a timeout too."""

    def from_error(self: Any, env: Any, ex: Exception) -> FailureEvent:
        if isinstance(ex, FailureEventException):
            return ex.failure_event
        if isinstance(ex, TimeoutError):
            ex = TaskError("States.Timeout", "")
        if not isinstance(ex, TaskError):
            return name(self, env=env, ex=ex)
        kinds = {kind.to_name(): kind for kind in StatesErrorNameType}
        known = ex.name in kinds
        details = TaskFailedEventDetails(error=ex.name, cause=ex.cause)
        return FailureEvent(
            env=env,
            error_name=StatesErrorName(kinds[ex.name]) if known else ErrorName(ex.name),
            event_type=HistoryEventType.TaskFailed,
            event_details=EventDetails(taskFailedEventDetails=details),
        )

    return from_error


def _calling(stage: Stage) -> Callable[..., dict[str, Any]]:
    """Lambda as AWS answers for it: a raised error comes back with its name and message."""

    def invoke(parameters: dict[str, Any], **_: Any) -> dict[str, Any]:
        try:
            answer: Any = stage.invoke(json.loads(parameters["Payload"]))
        except LambdaError as error:
            said = {"errorType": error.name, "errorMessage": error.message}
            return {"StatusCode": 200, "FunctionError": "Unhandled", "Payload": said}
        return {"StatusCode": 200, "Payload": answer}

    return invoke


@contextmanager
def _documented_limits() -> Iterator[None]:
    """What AWS documents and moto does not: errors out of reach of States.ALL, and a size."""
    matches = ErrorEqualsDecl._eval_body

    def matches_as_documented(self: Any, env: Any) -> None:
        error = env.stack[-1]
        matches(self, env)
        if error.error_name in _UNCATCHABLE and error not in self.error_names:
            env.stack[-1] = False

    def assign_within_limit(self: Any, env: Any) -> None:
        values: dict[str, Any] = {}
        for binding in self.declaration_bindings:
            binding.eval(env=env)
            values |= env.stack.pop()
        if len(json.dumps(values).encode()) > _STATE_BYTES:
            raise TaskError("States.DataLimitExceeded", f"one Assign of {', '.join(values)}")
        for name, value in values.items():
            env.variable_store.set(variable_identifier=name, variable_value=value)

    with (
        patch.object(ErrorEqualsDecl, "_eval_body", matches_as_documented),
        patch.object(AssignDecl, "_eval_body", assign_within_limit),
        # An iteration that fails by an error of Step Functions' own is one too many for moto.
        patch.object(iteration_worker, "CustomErrorName", ErrorName),
    ):
        yield


@contextmanager
def _sdk_names() -> Iterator[None]:
    """Step Functions' names for CloudWatch Logs and its parameters, turned into boto's."""

    def in_botos_words(self: Any, parameters: dict[str, Any], **_: Any) -> None:
        model = _client(self._get_boto_service_name()).meta.service_model
        action = self.resource.api_action
        shape = model.operation_model(action[0].upper() + action[1:]).input_shape
        self._to_boto_request(parameters, shape)

    sdk = state_task_service_aws_sdk.StateTaskServiceAwsSdk
    services = StateTaskService._SERVICE_NAME_SFN_TO_BOTO_OVERRIDES
    with (
        patch.object(sdk, "_normalise_parameters", in_botos_words),
        patch.dict(services, {"cloudwatchlogs": "logs"}),
    ):
        yield


@contextmanager
def _engine() -> Iterator[None]:
    """JSONata, the scenario's time in place of the real one, and a definition parsed once."""
    evaluator = _Evaluator()
    declarations, inner = VariableStore.get_variable_declarations, VariableStore.as_inner_scope_of
    environment = ExecutionWorker._get_evaluation_environment
    evaluate_map = StateMap._eval_execution

    def declarations_with_clock(self: Any) -> str:
        clock = evaluator.declare({"$clock": self.clock_ms})
        text: str = declarations(self)
        return clock + text

    def inner_with_clock(outer_variable_store: Any) -> Any:
        store = inner(outer_variable_store)
        store.clock_ms = outer_variable_store.clock_ms
        vars(outer_variable_store).setdefault("inside", []).append(store)
        return store

    def map_that_takes_time(self: Any, env: Any) -> None:
        evaluate_map(self, env)
        env.variable_store.clock_ms = _latest_ms(env.variable_store)

    def environment_with_clock(self: Any) -> Any:
        env = environment(self)
        run = self._evaluation_details.execution_details.name
        env.variable_store.clock_ms = int(run.split("-")[1])
        return env

    def no_real_timeout(_: Any, env: Any) -> None:
        env.stack.append(600)

    def wait(_: Any, env: Any, wait_seconds: float) -> None:
        env.variable_store.clock_ms += round(wait_seconds * 1_000)

    declare = "encode_jsonata_variable_declarations"
    with (
        patch.object(jsonata, "_eval_jsonata", evaluator.evaluate),
        patch.object(states, declare, evaluator.declare),
        patch.object(variable_store, declare, evaluator.declare),
        patch.object(VariableStore, "get_variable_declarations", declarations_with_clock),
        patch.object(VariableStore, "as_inner_scope_of", inner_with_clock),
        patch.object(ExecutionWorker, "_get_evaluation_environment", environment_with_clock),
        patch.object(StateMap, "_eval_execution", map_that_takes_time),
        patch.object(AmazonStateLanguageParser, "parse", _parse),
        patch.object(wait_function.WaitFunction, "_wait_interval", wait),
        patch.object(TimeoutSeconds, "_eval_body", no_real_timeout),
        patch.object(retrier_decl, "time", SimpleNamespace(sleep=lambda _: None)),
    ):
        yield


def _latest_ms(store: Any) -> int:
    """A Map has taken as long as the slowest of its iterations."""
    inside = vars(store).pop("inside", [])
    return max([store.clock_ms, *map(_latest_ms, inside)])


class _Evaluator:
    """Evaluates with bound values. moto would write them into the text: slow, and unescaped."""

    _BOUND = re.compile(r"\$(\w+):=#(\d+);")
    # A parsed expression serves one thread at a time. Here are those that serve none.
    _idle: ClassVar[dict[str, list[Jsonata]]] = defaultdict(list)

    def __init__(self) -> None:
        self._numbers = count()
        self._values: dict[str, Any] = {}

    def declare(self, bindings: dict[str, Any]) -> str:
        text = ""
        for name, value in bindings.items():
            number = str(next(self._numbers))
            self._values[number] = value
            text += f"{name}:=#{number};"
        return text

    def evaluate(self, text: str) -> Any:
        bindings = {
            name: copy.deepcopy(self._values[number]) for name, number in self._BOUND.findall(text)
        }
        expression = self._BOUND.sub("", text)
        try:
            parsed = self._parse(expression)
            parsed.register_lambda("millis", lambda: bindings["clock"])
            Jsonata.CURRENT.jsonata = parsed  # whose it is in this thread
            value = parsed.evaluate(None, bindings)
        except Exception as error:
            raise TaskError("States.QueryEvaluationError", f"{error}: {expression}") from error
        self._idle[expression].append(parsed)
        return value

    def _parse(self, expression: str) -> Jsonata:
        with suppress(IndexError):
            return self._idle[expression].pop()
        return Jsonata.jsonata(expression)


@cache
def _client(service: str) -> Any:
    # moto answers a client whenever it is switched on, so one may be kept.
    session: Any = boto3.Session()  # the stubs know only literal names
    return session.client(
        service, region_name=REGION, aws_access_key_id="moto", aws_secret_access_key="moto"
    )


# Taken before it is replaced by the one that remembers.
_parse = cache(AmazonStateLanguageParser.parse)


@cache
def _state_machine(settings: Settings) -> Any:
    return SimpleNamespace(
        arn=f"arn:aws:states:{REGION}:{DEFAULT_ACCOUNT_ID}:stateMachine:dedupe",
        name="dedupe",
        sm_type="EXPRESS",
        definition=definition_json(settings.substitutions()),
    )


def _variable(store: Any, name: str) -> Any:
    try:
        return store.get(name)
    except Exception:
        return {}
