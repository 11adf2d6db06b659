"""Plays a scenario on a machine: feeds the batches, causes the faults, is the destination.

Time is the scenario's own. Every execution reads a clock that stands still but for its waits and
the calls that take long, so both machines can be held to the millisecond.
"""

import json
import threading
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from once_data_action import errors
from once_data_action.breaker import Breaker
from once_data_action.request import ActionRequest
from once_enrichment.batch import unique
from once_pacing import payload, steps
from once_pacing.handler import World
from once_pacing.settings import Settings

from proof.scenarios.scenario import Delivery, Fault, Message, Row, Scenario

_TIMES_IN_SECONDS = {"expires_at"}
_TIMES_IN_MS = {"event_time", "occurrence", "claimed_at", "lease_until", "done_at", "failed_at"} | {
    "since",
    "open_until",
    "not_before",
}
_NEVER = "0"
# The beginning of a slot of the limiter, for every rate that a case sets.
ZERO_MS = 1_777_875_660_000
_ELSEWHERE = {"BREAKER_OPEN", "LIMITED", "RATE_LIMITED", "CALL_FAILED", "NOT_REACHED"}
# Of these parked events an alarm tells.
_OUTCOMES = ("PROCESSED", "DUPLICATE", "STALE", "IGNORED", "PARKED")
_REFUSED = "DynamoDB.ConditionalCheckFailedException"
_CAUSE = "as the scenario says"
_MADE_NO_CALL = {"NotAuthorised", "NotConfigured", "TooLate"}
_NOTES_NOTHING = {"observes", "crash"}
_TABLE = "claims"


@dataclass(frozen=True)
class Task:
    """One call that an execution makes."""

    run: str
    state: str
    message: str | None
    arguments: Mapping[str, Any]
    now_ms: int


@dataclass(frozen=True)
class Order:
    """The fate of a call: it takes time, and perhaps fails."""

    takes_ms: int = 0
    error: str | None = None
    cause: str = _CAUSE


class LambdaError(Exception):
    """The error of a function; `name` is its errorType, as on AWS."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name
        self.message = message


class Machine(Protocol):
    """An interpreter of the state machine with its table and its parking queue."""

    def execute(self, run: str, batch: list[dict[str, Any]]) -> dict[str, Any]:
        """One synchronous execution whose id ends in `run`: status, output, error.

        `run` is `at-` and the milliseconds at which its clock stands, `-` and something unique.
        """

    def put_row(self, item: dict[str, Any]) -> None: ...

    def rows(self) -> list[dict[str, Any]]: ...

    def parked(self) -> list[dict[str, Any]]: ...

    @property
    def dynamodb(self) -> Any:
        """Makes a client of the claims, for the functions that the machine invokes."""


@dataclass
class _Run:
    delivery: Delivery
    name: str
    dead: bool = False
    records: list[dict[str, Any]] = field(default_factory=list)
    metrics: list[dict[str, Any]] = field(default_factory=list)
    slept_ms: int = 0
    calls: Counter[tuple[int, str | None]] = field(default_factory=Counter)
    ending: dict[str, Any] = field(default_factory=dict)


class Stage:
    """One play of a scenario. The machine consults it before and after every call."""

    def __init__(self, scenario: Scenario, organisation: str) -> None:
        self.scenario = scenario
        self.organisation = organisation
        self.zero_ms = ZERO_MS
        self._messages = scenario.messages()
        self._names = scenario.names()
        self._runs: dict[str, _Run] = {}
        self._numbers = count()
        self._answered: Counter[str] = Counter()
        self._called_at: dict[tuple[str, str | None], int] = {}
        self._requests: list[dict[str, Any]] = []
        self._unforeseen: list[str] = []
        self._caused: set[int] = set()
        self._lock = threading.Lock()
        self._machine: Machine

    def play(self, machine: Machine) -> dict[str, Any]:
        """The whole scenario; answers all that was seen, in the words of the files."""
        self._machine = machine
        for name, row in self.scenario.given.items():
            machine.put_row(self._item(name, row))
        for delivery in self.scenario.deliveries:
            self._deliver(delivery)
        self._hold_to_the_script()
        seen = {
            "deliveries": {run.name: self._ending(run) for run in self._runs.values()},
            "rows": self._rows(machine.rows()),
            "requests": sorted(self._requests, key=lambda one: str(one["subject"])),
            "parked": sorted(map(_parked, machine.parked()), key=lambda p: str(p["message"])),
        }
        text = json.dumps(seen)
        for run_id, run in self._runs.items():
            text = text.replace(run_id, run.name)
        named: dict[str, Any] = json.loads(text)
        return named

    # The machine uses these from several threads.

    def before(self, task: Task) -> Order:
        run = self._runs[task.run]
        if task.state == "RecordOutcomes":
            self._note_records(run, task.arguments)
        takes, error = 0, None
        for fault in self._due(run, task, count=True):
            takes += fault.takes
            for name, row in fault.rewrites.items():
                self._machine.put_row(self._item(name, row))
            if fault.meanwhile:
                self._deliver(fault.meanwhile)
            if fault.dies == "before":
                run.dead = True
            error = fault.fails or error
        if run.dead:
            return Order(takes, "Killed", "this execution has died")
        with self._lock:
            self._called_at[(task.run, task.message)] = task.now_ms + takes
        return Order(takes, error)

    def after(self, task: Task, failed: tuple[str, str] | None) -> Order:
        """`failed` is the real call's error, name and cause; it stands if nothing is ordered."""
        run = self._runs[task.run]
        error = None
        for fault in self._due(run, task, count=False):
            if fault.afterwards:
                self._deliver(fault.afterwards)
            if fault.dies == "after":
                run.dead = True
            error = fault.answer_lost or error
        if failed and failed[0] != _REFUSED and task.state != "RunAction":
            with self._lock:
                self._unforeseen.append(f"{task.state} of {run.name}: {': '.join(failed)}")
        slept_ms, run.slept_ms = run.slept_ms, 0
        if run.dead:
            return Order(error="Killed", cause="this execution has died")
        return Order(slept_ms, error=error)

    def invoke(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Plays either Lambda that the machine invokes."""
        return self.act(payload) if "event" in payload else self.pace(payload)

    def act(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        """The data action, with a destination behind it that answers as the scenario says."""
        event, key = payload["event"], payload["idempotencyKey"]
        run, _, message = payload["execution"].partition("#")
        name = event["key"]["sk"].rpartition("/")[2]
        with self._lock:
            now_ms = self._called_at[(run, message)]
        self._hold_while_paused(payload, now_ms)
        if now_ms > payload["deadlineMs"]:
            raise _function_error("TooLate", payload["retry"], now_ms)
        with self._lock:
            said = self._answer(name)
            self._requests.append(
                {
                    "key": name,
                    "occurrence": self._occurrence(event["idempotencyKey"], key),
                    "subject": event["key"]["pk"],
                    "by": payload["execution"],
                    "at": now_ms - self.zero_ms,
                    "answer": said,
                    "body": event.get("body", event.get("bodyRef")),
                    "deadline": payload["deadlineMs"] - self.zero_ms,
                    "allowed": payload["requestsAllowed"],
                    "retry": payload["retry"],
                }
            )
        assert "receiptHandle" not in event, "a receipt handle left the machine"
        kind, *number = said.removeprefix("acts then ").split()
        self._note(kind, payload, int(number[0]) if number else 30, now_ms)
        if kind == "ok":
            return {
                "version": "2",
                "result": "ACTED",
                "requests": 1,
                "status": 200,
                "durationMs": 1,
            }
        if kind == "observes":
            return {"version": "2", "result": "OBSERVED", "requests": 0}
        if kind == "crash":
            raise LambdaError("Runtime.ExitError", "the function crashed")
        requests = payload["retry"] + (kind not in _MADE_NO_CALL)
        if kind == "Transient" and (payload["requestsAllowed"] < 2 or payload["retry"]):
            kind = "Failed"
        if kind == "TooLate" and payload["retry"]:
            kind = "Failed"
        seconds = {"retryAfterSeconds": int(number[0])} if number else {}
        raise _function_error(kind, requests, now_ms, **seconds)

    def pace(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The real pacing, on this machine's rows and by the scenario's clock."""
        run = self._runs[asked["run"]]
        said = payload.read(asked)
        now_ms = self._called_at[(asked["run"], None)]

        def clock() -> int:
            return now_ms + run.slept_ms

        def sleep(seconds: float) -> None:
            run.slept_ms += round(seconds * 1_000)

        environment = {"MAX_ACTIONS_PER_MINUTE": str(self.scenario.settings.max_actions_per_minute)}
        begins = isinstance(said, payload.Begin)
        conversation = (steps.begin if begins else steps.end)(
            said, Settings.read(environment), clock, lambda: 0.5
        )
        dynamodb = self._machine.dynamodb
        world = World(_TABLE, "queue", dynamodb, lambda: dynamodb, _Queue(), clock, sleep)
        return world.run(conversation)

    # What happens behind the curtain.

    def _deliver(self, delivery: Delivery) -> None:
        # The same in every performance of ours: what was evaluated in one is known in the next.
        number = uuid.uuid5(uuid.NAMESPACE_OID, f"{self.organisation} {next(self._numbers)}").hex
        run_id = f"at-{self.zero_ms + delivery.clock}-{number}"
        run = _Run(delivery, self._names[id(delivery)])
        self._runs[run_id] = run
        batch = unique([self._element(entry) for entry in delivery.batch])
        run.ending = self._machine.execute(run_id, batch)

    def _element(self, entry: Message | str) -> dict[str, Any]:
        if isinstance(entry, str):
            message = self._messages[entry]
        else:
            message = entry if entry.copy_of else self._messages[entry.message]
        return message.element(self.organisation, self.zero_ms)

    def _due(self, run: _Run, task: Task, *, count: bool) -> Iterator[Fault]:
        for number, fault in enumerate(run.delivery.faults):
            if fault.state != task.state or fault.message not in (None, task.message):
                continue
            with self._lock:
                seen = (number, task.message if fault.message else None)
                run.calls[seen] += count
                happened = run.calls[seen]
            if fault.from_call <= happened < fault.from_call + fault.calls:
                self._caused.add(id(fault))
                yield fault

    def _note_records(self, run: _Run, arguments: Mapping[str, Any]) -> None:
        # The one interpreter has AWS's names of the parameters here, the other boto's.
        events = {name.lower(): value for name, value in arguments.items()}["logevents"]
        texts = [{n.lower(): v for n, v in event.items()}["message"] for event in events]
        lines = [json.loads(text) for text in texts]
        run.records = [line for line in lines if "messageId" in line]
        for record in run.records:
            for name in ("occurredAtMs", "failedAtMs", "returnsAtMs", "leaseUntilMs"):
                if name in record:
                    record[name] -= self.zero_ms
        run.metrics = [line for line in lines if "_aws" in line]

    def _hold_while_paused(self, payload: Mapping[str, Any], now_ms: int) -> None:
        """Looks at the row as our data action does before it sends anything."""
        if not self.scenario.settings.own_action:
            breaker = Breaker(_TABLE, self._machine.dynamodb, lambda: now_ms)
            try:
                breaker.refresh(ActionRequest.read(payload))
            except errors.Paused as error:
                raise LambdaError("Paused", str(error)) from None

    def _note(self, kind: str, payload: Mapping[str, Any], seconds: int, now_ms: int) -> None:
        """Notes what our data action notes; a function of one's own notes nothing."""
        if self.scenario.settings.own_action or kind in _NOTES_NOTHING:
            return
        error = None if kind == "ok" else getattr(errors, kind)("", retry_after_seconds=seconds)
        error = errors.Failed("") if kind == "Transient" else error
        breaker = Breaker(_TABLE, self._machine.dynamodb, lambda: now_ms)
        breaker.note(ActionRequest.read(payload), now_ms, error)

    def _answer(self, name: str) -> str:
        script = self.scenario.answers.get(name, [])
        number = self._answered[name]
        self._answered[name] += 1
        return script[number] if number < len(script) else "ok"

    def _occurrence(self, plain: str, sent: str) -> int | None:
        if sent == plain:
            return None
        head, _, occurrence = sent.partition(".")
        assert head == plain, f"{sent} does not begin with the event's own key {plain}"
        return int(occurrence) - self.zero_ms

    def _hold_to_the_script(self) -> None:
        """Fails if a fault never happened or an answer was never used: that proves nothing."""
        for delivery in self.scenario.all_deliveries():
            for fault in delivery.faults:
                name = self._names[id(delivery)]
                assert id(fault) in self._caused, f"{name} never came to {fault}"
        for name, script in self.scenario.answers.items():
            asked = self._answered[name]
            assert asked >= len(script), f"{name} was asked {asked} times of {len(script)}"
        assert not self._unforeseen, f"calls that nobody made fail: {self._unforeseen}"

    def _ending(self, run: _Run) -> Any:
        if run.dead:
            return "died"
        assert run.ending["status"] == "SUCCEEDED", f"{run.name} ended as {run.ending}"
        failures = run.ending["output"]["batchItemFailures"]
        assert isinstance(failures, list), f"the pipe wants a list: {run.ending['output']}"
        _hold_metrics_to_records(run)
        return {
            "records": {record.pop("messageId"): record for record in run.records},
            "returned": sorted(failure["itemIdentifier"] for failure in failures),
        }

    # Between the words of the files and those of the table.

    def _rows(self, items: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        slots = sorted(item["sk"]["S"] for item in items if item["sk"]["S"].startswith("slot/"))
        rows = {}
        for item in items:
            pk, sk = item["pk"]["S"], item["sk"]["S"]
            if sk in slots:
                name = f"pace/slot/{slots.index(sk) + 1}"
            elif pk == "pace":
                name = f"pace/{sk}"
            elif pk.startswith("broken/"):
                name = pk.rpartition("/")[2]
            else:
                name = sk if sk.startswith("latest/") else sk.rpartition("/")[2]
            assert name not in rows, f"two rows would be called {name}; give their keys other names"
            rows[name] = {"pk": pk} | self._fields(item)
        return rows

    def _fields(self, item: Mapping[str, Any]) -> dict[str, str | int]:
        fields = {
            name: self._value(name, value)
            for name, value in item.items()
            if name not in ("pk", "sk")
        }
        occurrence = int(item.get("occurrence", {"N": "0"})["N"])
        if occurrence < 0:
            del fields["occurrence"]
            fields["forgotten_at"] = -occurrence - self.zero_ms
        return fields

    def _value(self, field_name: str, value: Mapping[str, str]) -> str | int:
        (kind, text), *_ = value.items()
        if kind == "SS":
            return len(text)
        if field_name == "failed_at" and text == _NEVER:
            return "never"
        if field_name in _TIMES_IN_MS:
            return int(text) - self.zero_ms
        if field_name in _TIMES_IN_SECONDS:
            return int(text) * 1_000 - self.zero_ms
        return int(text) if kind == "N" else text

    def _item(self, name: str, row: Row) -> dict[str, Any]:
        """A row that was there before: what the file leaves out is as an ordinary claim has it."""
        values: dict[str, Any] = {"expires_at": 30 * 86_400_000}
        if name.startswith("pace/"):
            pk, _, sk = name.partition("/")
        else:
            pk, sk = self._key_of_given(name)
            values |= {"event_time": 0, "owner": "gone#m0", "message_id": "m0"}
            if not name.startswith("latest/"):
                family = sk.split("/")[1]
                values |= {"event_id": "", "occurrence": 0, "claimed_at": 0, "lease_until": 310_000}
                values |= {"family": family, "topic": f"v2.detail.events.{family}", "copies": 0}
                values |= {"tries": 0}
        values |= {field_name: getattr(row, field_name) for field_name in row.model_fields_set}
        if row.forgotten_at is not None:
            values["occurrence"] = -(2 * self.zero_ms + values.pop("forgotten_at"))
        item: dict[str, Any] = {"pk": {"S": pk}, "sk": {"S": sk}}
        for field_name, value in values.items():
            if field_name == "failed" and value:
                item[field_name] = {"SS": [f"{number:016}" for number in range(value)]}
            elif field_name in _TIMES_IN_MS:
                item[field_name] = {"N": str(self.zero_ms + value)}
            elif field_name in _TIMES_IN_SECONDS:
                item[field_name] = {"N": str((self.zero_ms + value) // 1_000)}
            else:
                item[field_name] = {"S" if isinstance(value, str) else "N": str(value)}
        return item

    def _key_of_given(self, name: str) -> tuple[str, str]:
        users = [m for m in self._messages.values() if name in (m.key, f"latest/{m.family}")]
        assert users, f"given row {name} belongs to no message of this scenario"
        pk, sk = users[0].row_key(self.organisation)
        return pk, name if name.startswith("latest/") else sk


def _function_error(kind: str, requests: int, now_ms: int, **seconds: int) -> LambdaError:
    facts = {"once": "1", "sentence": _CAUSE, "requests": requests}
    facts |= {"endedMs": now_ms, "durationMs": 0, **seconds}
    return LambdaError(kind, json.dumps(facts, separators=(",", ":")))


def _parked(body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "message": body["element"]["messageId"],
        "reason": body["reason"],
        "by": body["owner"],
        "kind": body["element"]["kind"],
    }


class _Queue:
    """An event queue that takes every return time."""

    def get_queue_attributes(self, **_: Any) -> Any:
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        return {"Attributes": dict.fromkeys(names, "0")}

    def change_message_visibility_batch(self, **request: Any) -> Any:
        return {"Successful": [{"Id": entry["Id"]} for entry in request["Entries"]]}


def _hold_metrics_to_records(run: _Run) -> None:
    counted = Counter(record["outcome"] for record in run.records)
    (said,) = run.metrics
    outcomes = {name: said[name] for name in _OUTCOMES if name in said}
    expected = dict(counted)
    expected.pop("RETRY", None)
    # Of those that neither the limit nor the destination delayed, which were returned.
    ours = [r for r in run.records if "copyOf" not in r and r["reason"] not in _ELSEWHERE]
    returned = sum(record["outcome"] == "RETRY" for record in ours)
    assert sum(said.get("RETURNED", [])) == returned, f"{said} of {run.name}, {counted}"
    assert outcomes == expected, f"metrics of {run.name}: {said}, records: {dict(counted)}"
