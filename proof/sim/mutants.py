"""Broken definitions and broken cores: the proof that situations, walks and the search notice.

Each mutant takes out a clause, a guard or a rule, by a change of text. `found_by` names what
notices it first, so that the tests need not search; `equivalent` says why nothing can notice it.
"""

import copy
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from proof.asl.machine import Machine
from proof.sim import deployed
from proof.sim.cases import CASES
from proof.sim.promises import BrokenError
from proof.sim.script import Script
from proof.sim.search import search
from proof.sim.situations import SITUATIONS
from proof.sim.walk import played

FORCED = ("", "", "kms", "purge", "pause", "code")
_CASE_STATES = 3_000


@dataclass(frozen=True)
class Mutant:
    name: str
    old: str
    new: str
    found_by: str = ""
    equivalent: str = ""
    # A module of the function in place of the definition.
    module: str = ""
    edit: Callable[[dict[str, Any]], None] | None = None


class Finding(NamedTuple):
    found_by: str
    sentence: str
    seconds: float


def machine_with(mutant: Mutant) -> Machine:
    """Returns the machine with the change; raises LookupError if its text is gone."""
    source = deployed.text()
    if mutant.module:
        return deployed.machine()
    if source.count(mutant.old) != 1 and not mutant.edit:
        raise LookupError(f"{mutant.name}: its text is {source.count(mutant.old)} times there")
    changed = source.replace(mutant.old, mutant.new)
    if mutant.edit:
        definition = copy.deepcopy(deployed.definition_of(changed))
        mutant.edit(definition["States"])
        return deployed.machine_of(definition)
    return deployed.machine_of(_without_unused(deployed.definition_of(changed)))


def _without_unused(definition: dict[str, Any]) -> dict[str, Any]:
    """DynamoDB refuses names and values that no expression uses."""
    for state in definition["States"].values():
        arguments = state.get("Arguments", {})
        if "ConditionExpression" not in arguments:
            continue
        text = f"{arguments['ConditionExpression']} {arguments.get('UpdateExpression', '')} "
        for names in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
            kept = {n: v for n, v in arguments.get(names, {}).items() if _uses(text, n)}
            if names in arguments:
                arguments[names] = kept
    return definition


def _uses(text: str, name: str) -> bool:
    return any(f"{name}{end}" in text for end in " ),")


@contextmanager
def changed_module(mutant: Mutant) -> Iterator[None]:
    """Puts a changed copy of a module in the place of the module, for as long as it lasts."""
    if not mutant.module:
        yield
        return
    original = sys.modules[mutant.module]
    assert original.__file__
    with open(original.__file__) as file:
        source = file.read()
    if source.count(mutant.old) != 1:
        raise LookupError(f"{mutant.name}: its text is {source.count(mutant.old)} times there")
    changed = ModuleType(mutant.module)
    changed.__dict__.update(__file__=original.__file__, __package__=original.__package__)
    sys.modules[mutant.module] = changed
    exec(compile(source.replace(mutant.old, mutant.new), mutant.module, "exec"), changed.__dict__)  # noqa: S102
    back: list[tuple[ModuleType, str, Any]] = []
    for module in list(sys.modules.values()):
        if module is changed or not getattr(module, "__name__", "").startswith(
            ("once_data", "proof.sim")
        ):
            continue
        for name, value in list(vars(module).items()):
            if value is original:
                back.append((module, name, value))
                setattr(module, name, changed)
            elif getattr(original, name, None) is value and hasattr(changed, name):
                if callable(value) or isinstance(value, int | float | str):
                    back.append((module, name, value))
                    setattr(module, name, getattr(changed, name))
    try:
        yield
    finally:
        sys.modules[mutant.module] = original
        for module, name, value in back:
            setattr(module, name, value)


def finding(mutant: Mutant, seeds: int = 60, seconds: float = 60) -> Finding | None:
    """Returns what notices the mutant: what found it last time, or the first of all."""
    began = time.process_time()
    with changed_module(mutant):
        machine = machine_with(mutant)
        known = [mutant.found_by] if mutant.found_by else []
        for finder in [*known, *_finders(seeds)]:
            sentence = noticed(finder, machine)
            if sentence:
                return Finding(finder, sentence, time.process_time() - began)
            if time.process_time() - began > seconds:
                return None
    return None


def _finders(seeds: int) -> Iterator[str]:
    yield from (f"situation {name}" for name in SITUATIONS)
    for seed in range(seeds):
        yield f"walk {seed} {FORCED[seed % len(FORCED)]}".strip()
    yield from (f"case {case.name}" for case in CASES)


def noticed(finder: str, machine: Machine) -> str:
    """Returns what a situation, a walk or a case says is broken; empty if nothing."""
    kind, _, name = finder.partition(" ")
    try:
        if kind == "situation":
            return _play(name, machine)
        if kind == "walk":
            seed, _, forced = name.partition(" ")
            return played(int(seed), machine, deployed.functions, forced=forced)[1]
        case = next(case for case in CASES if case.name == name)
        return search(case, machine, deployed.functions(), _CASE_STATES).broken
    finally:
        deployed.EXPRESSIONS.failures.clear()


def _play(name: str, machine: Machine) -> str:
    def new(**options: Any) -> Script:
        function = deployed.functions(options.get("per_minute", 0))
        return Script(machine, function, most_moves=20_000, **options)

    try:
        SITUATIONS[name](new)
    except BrokenError as broken:
        return str(broken)
    except (AssertionError, LookupError):
        return f"the situation {name} ends otherwise"
    return ""


def _release_first(states: dict[str, Any]) -> None:
    """Releases the claim before the message is put back, as nothing else would be different."""
    first = copy.deepcopy(states["CloseClaim"])
    values = first["Arguments"]["ExpressionAttributeValues"]
    values |= {":status": {"S": "FAILED"}, ":outcome": {"S": "RETRY"}}
    first["Next"] = "PutBack"
    first["Catch"] = [{"ErrorEquals": ["States.ALL"], "Next": "PutBack"}]
    for state in states.values():
        for rule in [state, *state.get("Catch", []), *state.get("Choices", [])]:
            for onward in ("Next", "Default"):
                is_kept = "leaseUntilMs" in str(rule.get("Assign", ""))
                if (
                    rule.get(onward) == "PutBack"
                    and not is_kept
                    and state is not states["MayClaim"]
                ):
                    rule[onward] = "ReleaseFirst"
    states["HasClaim"]["Default"] = "RecordOutcome"
    states["ReleaseFirst"] = first


def _clause(number: int, guard: str, old: str, new: str, **more: str) -> Mutant:
    return Mutant(f"ClaimKey {number}: {guard}", old, new, **more)


_CLAUSE_3 = "OR (#owner = :released AND (#status = :failed OR outcome = :parked))"
_CLAUSE_5 = """OR (#status = :in_progress AND #owner = :me AND occurrence = :occurrence AND event_time = :time
        AND tries = :tries AND deaths = :deaths)"""
_CLAUSE_6 = (
    "OR (#status = :done AND event_time < :earlier AND (event_id = :none OR event_id <> :event_id))"
)
_TURN = "(turn_until < :now OR #owner = :me OR #owner = :ended)"
_COMPLETION = """      ConditionExpression: "#owner = :me AND #status = :in_progress"
      ExpressionAttributeNames: { "#status": status, "#owner": owner }
      ExpressionAttributeValues:
        ":done": { S: DONE }"""
_CLOSE = """      ConditionExpression: "#owner = :me AND #status = :in_progress"
      ExpressionAttributeNames: { "#status": status, "#owner": owner }
      ExpressionAttributeValues:
        ":status\""""
_PUT_BACK_RETRY = """    Retry:
      - { ErrorEquals: [States.TaskFailed, States.Timeout], MaxAttempts: 2, JitterStrategy: FULL }
    Next: HasClaim

  Ignored:"""

MUTANTS = (
    # The claim.
    _clause(1, "out", "attribute_not_exists(pk)\n        OR (expires_at < :now_s AND", "(expires_at < :now_s AND"),
    _clause(2, "out", "OR (expires_at < :now_s AND #status <> :in_progress)\n", "\n"),
    _clause(2, "of an owner too", "(expires_at < :now_s AND #status <> :in_progress)", "(expires_at < :now_s)",
            equivalent="a lease of 140 s is over long before 30 days are, and then clause 4 holds"),
    _clause(3, "out", _CLAUSE_3, ""),
    _clause(3, "whoever released it", "(#owner = :released AND (#status", "((#status"),
    _clause(3, "not if it was put back", "(#status = :failed OR outcome = :parked)", "outcome = :parked"),
    _clause(3, "not if it is parked", "(#status = :failed OR outcome = :parked)", "#status = :failed"),
    _clause(3, "whatever its status", " AND (#status = :failed OR outcome = :parked))", ")",
            equivalent="an owner that ReadClaim saw release or park a row writes it no more"),
    _clause(4, "out", "OR (#status = :in_progress AND lease_until < :now AND #owner = :seen)", ""),
    _clause(4, "whenever", "AND lease_until < :now AND #owner = :seen", "AND #owner = :seen",
            equivalent="ReadClaim calls a claim free only when its lease is over"),
    _clause(4, "whoever was seen", "AND lease_until < :now AND #owner = :seen", "AND lease_until < :now"),
    _clause(4, "whatever its status", "(#status = :in_progress AND lease_until < :now", "(lease_until < :now"),
    _clause(5, "out", _CLAUSE_5, ""),
    _clause(5, "anybody's", "AND #owner = :me AND occurrence", "AND occurrence"),
    _clause(5, "whatever its status", "OR (#status = :in_progress AND #owner = :me", "OR (#owner = :me"),
    _clause(5, "of an earlier look", " AND occurrence = :occurrence AND event_time = :time\n"
            "        AND tries = :tries AND deaths = :deaths)", ")"),
    _clause(6, "out", _CLAUSE_6, ""),
    _clause(6, "whatever its status", "OR (#status = :done AND event_time", "OR (event_time"),
    _clause(6, "whenever", "AND event_time < :earlier AND (event_id", "AND (event_id"),
    _clause(6, "the same publisher's id", "AND (event_id = :none OR event_id <> :event_id))", ")"),
    Mutant("rows never expire", '        expires_at: { N: "{% $string($floor($millis() / 1000) + ${ClaimDays} * 86400) %}" }\n        family', "        family"),
    Mutant("the owner of a taken claim has not ended", 'ended: "{% $claim.seen %}"', "ended: nobody",
           equivalent="its turn is over with its lease; before that nobody takes its claim, and a "
           "released turn is read from its row: it costs two reads"),
    Mutant("a claim without an answer is skipped", "$ceil(($leaseUntilMs - $millis()) / 1000) + 1])\n            } %}\n        Next: PutBack\n    Next: MayAct", "$ceil(($leaseUntilMs - $millis()) / 1000) + 1])\n            } %}\n        Next: SkipDuplicate\n    Next: MayAct"),
    Mutant("a claim without an answer is released", "              'reason': 'TABLE_UNANSWERED',\n              'leaseUntilMs': $leaseUntilMs,\n", "              'reason': 'TABLE_UNANSWERED',\n",
           equivalent="`after` is not this execution then, so HasClaim releases nothing"),
    # What ReadClaim concludes.
    Mutant("the same id is no copy", "$sameId := $claim.eventId != '' and $row.event_id.S = $claim.eventId;", "$sameId := false;"),
    Mutant("a window tells nothing", "$near := $claim.spanMs = 'endless' or $abs", "$near := $abs"),
    Mutant("only older ones are near", "$abs($timeMs - $event.occurredAtMs) <= $claim.spanMs", "$timeMs - $event.occurredAtMs <= $claim.spanMs"),
    Mutant("nobody is the heir", "$heir := $row.owner.S = $event.after;", "$heir := false;"),
    Mutant("anybody is the heir", "$heir := $row.owner.S = $event.after;", "$heir := true;"),
    Mutant("any copy of a parked event goes on", "$redriven := $same and $heir and", "$redriven := $same and"),
    Mutant("a replayed event keeps its tries", "$kept := $same and $not($redriven);", "$kept := $same;"),
    Mutant("what is not settled is", "$settled := $kept and $row.status.S = 'DONE';", "$settled := $kept;"),
    Mutant("a copy waits for ever", "            and $number($row.due_at.N) + 900000 > $millis();", "            and true;"),
    Mutant("a copy waits for nobody", "$number($row.due_at.N) + 900000 > $millis()", "$number($row.due_at.N) - 900000 > $millis()"),
    Mutant("an heir waits for itself", "$row.status.S = 'FAILED' and $not($heir)\n", "$row.status.S = 'FAILED'\n"),
    Mutant("a held claim is free", ": $held ? 'HELD' : 'FREE';", ": 'FREE';",
           equivalent="ClaimKey's clause 4 refuses it: it costs writes"),
    Mutant("a held claim is a copy", "$is := $settled or $awaited ? 'COPY'", "$is := $settled or $awaited or $held ? 'COPY'"),
    Mutant("no death is counted", "$died ? 1])", "$died ? 0])"),
    Mutant("deaths are forgotten", "$sum([$number($row.deaths.N), $died ? 1])", "$sum([$died ? 1])"),
    Mutant("a death has no time", "$max([$row.failed_at.N, $died ? $row.claimed_at.N].$number($))", "$number($row.failed_at.N)"),
    Mutant("a successor forgets the tries", "'tries': $kept ? $number($row.tries.N) : 0,", "'tries': 0,"),
    Mutant("a successor forgets the occurrence", "'occurrenceMs': $same ? $number($row.occurrence.N) : $event.occurredAtMs,", "'occurrenceMs': $event.occurredAtMs,"),
    Mutant("a successor forgets the newest time", "'timeMs': $same ? $max([$timeMs, $event.occurredAtMs]) : $event.occurredAtMs,", "'timeMs': $event.occurredAtMs,"),
    Mutant("nobody was released", "'released': $row.status.S = 'FAILED' or $redriven ? $row.owner.S : 'nobody',", "'released': $redriven ? $row.owner.S : 'nobody',"),
    Mutant("an older occurrence is free", "and $timeMs > $event.occurredAtMs ? 'OLDER'", "and $timeMs > $event.occurredAtMs ? 'FREE'"),
    Mutant("an outcome does not stay", "$settled and $split($row.owner.S, '#')[1] = $event.firstMessageId", "false"),
    Mutant("a free claim is not claimed again", "$claim.looks < 4 and $claim.is = 'FREE'", "false"),
    Mutant("an owner is not waited for", '- { Condition: "{% $claim.looks < 4 %}", Next: WaitForOwner }', '- { Condition: "{% false %}", Next: WaitForOwner }'),
    # Who goes on.
    Mutant("after is never kept", "after: \"{% $exists($states.input[0].after) ? $states.input[0].after : '' %}\"", "after: ''"),
    Mutant("after is never this execution", '      after: "{% $me %}"\n', ""),
    Mutant("a message is parked without after", "          'after': $me,\n", ""),
    Mutant("a message is put back without after", "          'after': $after != '' ? $after,\n", ""),
    Mutant("nothing is released", '$after != $me or $exists($verdict.leaseUntilMs) %}"', 'true %}"'),
    Mutant("a claim of another is released", "{% $after != $me or $exists($verdict.leaseUntilMs) %}", "{% $exists($verdict.leaseUntilMs) %}",
           equivalent="CloseClaim's condition names the owner: it costs a write"),
    Mutant("a function that failed releases its claim", "{% $after != $me or $exists($verdict.leaseUntilMs) %}", "{% $after != $me %}"),
    Mutant("the release comes before the put-back", "", "", edit=_release_first),
    # Short looks.
    Mutant("a short look past the due time", "$states.input[0].dueAtMs + 840000 : 0", "$states.input[0].dueAtMs + 84000000 : 0"),
    Mutant("a short look after ten days", "           and $states.input[0].waitsSinceMs > $millis() - ${WaitDays} * 86400000\n", ""),
    Mutant("a short look of a message that was received before", "$states.input[0].receives = 1 and $exists", "$exists"),
    Mutant("a short look without a pause", "{% $millis() < $pause.untilMs and $millis()", "{% $millis()"),
    Mutant("a short look renews its due time", "'dueAtMs': $after != $me ? $event.dueAtMs : $not", "'dueAtMs': $after != $me and false ? $event.dueAtMs : $not"),
    Mutant("a short look whose reason changed has no record", "quiet: \"{% $pause.reason = $event.lastReason %}\"", "quiet: true"),
    Mutant("each short look has a record", "quiet: \"{% $pause.reason = $event.lastReason %}\"", "quiet: false"),
    # Unwanted, expired, every.
    Mutant("an unwanted event claims", "- { Condition: \"{% $verdict.outcome = 'IGNORED' %}\", Next: Ignored }", "- { Condition: \"{% $verdict.outcome = 'IGNORED' %}\", Next: ClaimKey }"),
    Mutant("an unwanted event breaks nothing", "or $event.policy.order in ['changes', 'every'] and $verdict", "or $event.policy.order in ['every'] and $verdict"),
    Mutant("every breaks nothing", "$event.policy.order = 'every' and $after = ''", "false"),
    Mutant("every takes a turn", "in ['none', 'every'] ? 'FREE'", "in ['none'] ? 'FREE'"),
    Mutant("an unwanted time goes back", "attribute_not_exists(unwanted_time) OR unwanted_time < :time", "attribute_not_exists(other)"),
    Mutant("an unwanted event moves the time", '"SET unwanted_time = :time, expires_at', '"SET unwanted_time = :time, event_time = :time, expires_at'),
    Mutant("a break that failed is passed over", "          verdict: { reason: TABLE_UNANSWERED }\n        Next: PutBack\n    Next: MayClaim", "          noted: true\n        Next: MayClaim\n    Next: MayClaim"),
    Mutant("nothing expires", "or $states.input[0].expiresAtMs < $millis() ? {", "? {"),
    # The turn of a subject.
    Mutant("order is not asked", "? 'FREE' : 'ASK' %}\"\n      before", "? 'FREE' : 'FREE' %}\"\n      before"),
    Mutant("latest without its time", "(event_time <= :time AND (turn_until", "((turn_until"),
    Mutant("latest refuses the same time", "(event_time <= :time AND (turn_until", "(event_time < :time AND (turn_until"),
    Mutant("a turn is not asked", f"event_time <= :time AND {_TURN}", "event_time <= :time"),
    Mutant("a turn never ends by itself", _TURN, "(#owner = :me OR #owner = :ended)"),
    Mutant("a turn of one's own is another's", _TURN, "(turn_until < :now OR #owner = :ended)"),
    Mutant("an owner that ended keeps its turn", _TURN, "(turn_until < :now OR #owner = :me)"),
    Mutant("a row without a time is refused", "        attribute_not_exists(event_time)\n", "        attribute_not_exists(pk)\n"),
    Mutant("a row that expired is refused", "        OR expires_at < :now_s\n        OR (event_time", "        OR (event_time",
           equivalent="DynamoDB removes the row; until then a state that is older than 30 days is stale"),
    Mutant("nothing is busy", "$not($states.result.Item.owner.S in [$me, $ended]) ? 'BUSY' : 'ASK'", "$not($states.result.Item.owner.S in [$me, $ended]) ? 'ASK' : 'ASK'"),
    Mutant("nothing is stale", "$olderMs > $unsureMs\n", "false\n"),
    Mutant("an unsure state is stale", "$olderMs > $unsureMs\n", "$olderMs > 0\n"),
    Mutant("an unsure state takes the newest facts", "'state': ''} : $newest", "'state': $newest.state} : $newest"),
    Mutant("an unsure state moves the time back", "{'timeMs': $number($states.result.Item.event_time.N), 'state': ''}", "{'timeMs': $claim.timeMs, 'state': ''}"),
    Mutant("a copy of an unsure state acts", "$olderMs > 0 and $claim.timeMs - $settled.timeMs <= $unsureMs", "false"),
    Mutant("any unsure state is a copy", "$olderMs > 0 and $claim.timeMs - $settled.timeMs <= $unsureMs", "$olderMs > 0"),
    Mutant("a predecessor has always ended", "? 'WAIT' : 'ASK' %}", "? 'ASK' : 'ASK' %}"),
    Mutant("a predecessor in work counts as ended", "           ? $ended : $before.owner %}", "           ? $before.owner : $before.owner %}",
           equivalent="its turn is WAIT then, and ReadPredecessor is asked again before the next write"),
    Mutant("a predecessor in work is passed", "- { Condition: \"{% $turn = 'WAIT' and $waits < 4 %}\", Next: WaitForPredecessor }", "- { Condition: \"{% $turn = 'WAIT' and $waits < 4 %}\", Next: RunAction }"),
    Mutant("a predecessor is waited for in vain, and passed", "- Condition: \"{% $turn = 'WAIT' %}\"\n", "- Condition: \"{% false %}\"\n"),
    Mutant("a turn without an answer acts", "- { ErrorEquals: [States.ALL], Next: PutBack }\n    Next: MayAct\n\n  ReadLatest", "- { ErrorEquals: [States.ALL], Next: RunAction }\n    Next: MayAct\n\n  ReadLatest"),
    Mutant("it is never too late", '"{% $millis() > $startedMs + ${BeginSeconds} * 1000 %}"', '"{% false %}"'),
    # Facts.
    Mutant("facts: settled or not", "$before.repeated and $before.owner = $settled.owner %}", "$before.repeated %}"),
    Mutant("facts: never the same", "$turn = 'MINE' and $before.repeated and $before.owner = $settled.owner", "false"),
    Mutant("facts: the row's may be any", "and state.S = $event.facts and $newest.state = $event.facts", "and $newest.state = $event.facts"),
    Mutant("facts: those of an unsure state", "and state.S = $event.facts and $newest.state = $event.facts", "and state.S = $event.facts"),
    Mutant("facts: nothing came between", "            and ($exists(unwanted_time) ? $number(unwanted_time.N) < $number(event_time.N) : true),", "            and true,"),
    Mutant("facts: nothing came at the same time", "$number(unwanted_time.N) < $number(event_time.N)", "$number(unwanted_time.N) <= $number(event_time.N)"),
    Mutant("facts: another's claim is not read", " or ($turn = 'MINE' and $before.repeated and $not($before.known)) %}", " %}"),
    Mutant("facts: a parked claim of another", "           and $states.result.Item.outcome.S in ['PROCESSED', 'DUPLICATE']\n           ? {'owner': $before.owner", "           ? {'owner': $before.owner"),
    Mutant("facts: a claim in work of another", "$states.result.Item.owner.S = $before.owner and $states.result.Item.status.S = 'DONE'\n           and", "$states.result.Item.owner.S = $before.owner\n           and",
           equivalent="only a claim that is done has one of these outcomes, or one that was put "
           "anew, and that has another owner"),
    Mutant("facts: another owner's claim", "$states.result.Item.owner.S = $before.owner and $states.result.Item.status.S = 'DONE'", "$states.result.Item.status.S = 'DONE'"),
    Mutant("facts: a parked claim of one's own", "$row.status.S = 'DONE' and $row.outcome.S in ['PROCESSED', 'DUPLICATE']\n", "$row.status.S = 'DONE'\n"),
    Mutant("facts: any claim of one's own", "$row.status.S = 'DONE' and $row.outcome.S in ['PROCESSED', 'DUPLICATE']\n", "$exists($row.owner.S)\n"),
    # The function.
    Mutant("WAIT is an act", "- { Condition: \"{% $verdict.result = 'ACTED' %}\", Next: Processed }", "- { Condition: \"{% true %}\", Next: Processed }"),
    Mutant("an act is put back", "- { Condition: \"{% $verdict.result = 'ACTED' %}\", Next: Processed }", "- { Condition: \"{% false %}\", Next: Processed }"),
    Mutant("a failed function is skipped", "$ceil(($leaseUntilMs - $millis()) / 1000) + 1])\n            } %}\n        Next: PutBack\n    Next: HasActed", "$ceil(($leaseUntilMs - $millis()) / 1000) + 1])\n            } %}\n        Next: SkipDuplicate\n    Next: HasActed"),
    Mutant("a rejected event is put back", "- ErrorEquals: [Rejected, Uncertain, GaveUp]", "- ErrorEquals: [Nothing]"),
    Mutant("a throttled function is a failure", "- ErrorEquals: [Lambda.TooManyRequestsException]", "- ErrorEquals: [Nothing]"),
    Mutant("a failure is a broken function", "- ErrorEquals: [Transient, Failed, RateLimited, NotAuthorised, NotConfigured]", "- ErrorEquals: [Nothing]"),
    Mutant("no second request follows immediately", "- { ErrorEquals: [Transient], MaxAttempts: 1, JitterStrategy: FULL }", "- { ErrorEquals: [Nothing], MaxAttempts: 1, JitterStrategy: FULL }"),
    # Ends.
    Mutant("anybody completes", _COMPLETION, _COMPLETION.replace("#owner = :me AND #status = :in_progress", "attribute_exists(pk)").replace('{ "#status": status, "#owner": owner }', '{ "#status": status }')),
    Mutant("a completion without an answer is put back", "'outcome': 'PROCESSED', 'unconfirmed': true}]) %}\"\n        Next: RecordOutcome", "'reason': 'TABLE_UNANSWERED', 'unconfirmed': true}]) %}\"\n        Next: PutBack"),
    Mutant("anybody closes", _CLOSE, _CLOSE.replace("#owner = :me AND #status = :in_progress", "attribute_exists(pk)").replace('{ "#status": status, "#owner": owner }', '{ "#status": status }')),
    Mutant("a parked event is released", "{% $verdict.outcome = 'RETRY' ? 'FAILED' : 'DONE' %}", "{% $verdict.outcome in ['RETRY', 'PARKED'] ? 'FAILED' : 'DONE' %}"),
    Mutant("an event that was put back is done", "{% $verdict.outcome = 'RETRY' ? 'FAILED' : 'DONE' %}", "DONE"),
    Mutant("a release forgets the tries", '":tries": { N: "{% $string($merge([$claim, $verdict]).tries) %}" }\n        ":failed_at"', '":tries": { N: "{% $string($claim.tries) %}" }\n        ":failed_at"'),
    Mutant("a release keeps the deaths", "{% $string($merge([$claim, $verdict]).deaths) %}", "{% $string($claim.deaths) %}"),
    Mutant("a release forgets the failure", "{% $string($merge([$claim, $verdict]).failedAtMs) %}", "{% $string($claim.failedAtMs) %}"),
    Mutant("a release is never due", '":due": { N: "{% $string($millis() + 1000', '":due": { N: "{% $string(1000'),
    Mutant("parking failed, and is parked", "          verdict: \"{% $merge([$verdict, {'reason': 'PARKING_FAILED'}]) %}\"\n        Next: PutBack", "          verdict: \"{% $merge([$verdict, {'outcome': 'PARKED'}]) %}\"\n        Next: CloseClaim"),
    Mutant("closed before it is parked", "{% $parse($parse($states.errorOutput.Cause).errorMessage) %}\"\n        Next: Parked", "{% $merge([$parse($parse($states.errorOutput.Cause).errorMessage), {'outcome': 'PARKED'}]) %}\"\n        Next: CloseClaim"),
    Mutant("a put-back that failed is a success", _PUT_BACK_RETRY, _PUT_BACK_RETRY.replace("    Next: HasClaim", "    Catch:\n      - { ErrorEquals: [States.ALL], Next: Unrecorded }\n    Next: HasClaim")),
    Mutant("waiting begins anew", "'waitsSinceMs': $event.waitsSinceMs, 'reason': $verdict.reason,", "'waitsSinceMs': $millis(), 'reason': $verdict.reason,"),
    Mutant("an event goes by its second id", "'firstMessageId': $event.firstMessageId, 'firstSentAtMs'", "'firstMessageId': $event.messageId, 'firstSentAtMs'"),
    Mutant("a wrapper in a wrapper", "$string({'event': $event.raw, 'once': {\n          'firstMessageId': $event.firstMessageId, 'firstSentAtMs'", "$string({'event': $string({'once': {}, 'event': $event.raw}), 'once': {\n          'firstMessageId': $event.firstMessageId, 'firstSentAtMs'"),
    Mutant("nobody waits too long", "$event.waitsSinceMs < $millis() - ${WaitDays} * 86400000 %}\"\n        Assign", "false %}\"\n        Assign"),
    Mutant("a broken message is no event", "- Condition: \"{% $exists($event.broken) %}\"", "- Condition: \"{% false %}\""),
    Mutant("nothing is recorded", "    Next: RecordOutcome\n\n  SkipStale", "    Next: Unrecorded\n\n  SkipStale"),
)  # fmt: skip


def main(names: list[str], seeds: int = 60) -> int:
    """Prints what notices each mutant; returns the number that nothing notices."""
    missed = 0
    for mutant in MUTANTS:
        if names and not any(name in mutant.name for name in names):
            continue
        found = finding(mutant, seeds)
        if found:
            said = f"{found.seconds:5.1f} s  {found.found_by}: {found.sentence[:90]}"
        else:
            said = f"equivalent: {mutant.equivalent}" if mutant.equivalent else "NOT NOTICED"
            missed += not mutant.equivalent
        print(f"{mutant.name:60} {said}", flush=True)
    print(f"{missed} of {len(MUTANTS)} are not noticed")
    return missed
