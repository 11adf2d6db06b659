"""The mutants: each clause and each guard of the protocol missing once, and each precaution."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from once_enrichment.collapse import collapse
from once_pacing import breaker_row, payload, slot_row
from once_pacing.breaker import Flow, judge

from proof.explorer.mutants import (
    Edit,
    Mutant,
    States,
    blind,
    both,
    condition,
    default,
    expiry_in_milliseconds,
    goes,
    kept_by_the_put,
    no_edit,
    park_after_the_row,
    rule,
    text,
    without_clause,
    without_condition,
    without_guard,
    without_rule,
)
from proof.explorer.scenario import Fault, Sent
from proof.explorer.scenarios import (
    CLOSE_STATES,
    COPIES,
    COPIES_PACED,
    EXPIRED,
    EXPIRED_STATE,
    EXPIRING,
    EXPIRING_STATES,
    EXPIRING_WINDOW,
    IDS,
    IGNORED,
    IGNORED_AND_SHUT,
    IGNORED_STATE,
    LIMITED_AND_MUTE,
    MIXED,
    NEARLY_OPEN,
    NEVER_CLOSING,
    NEWEST,
    OCCURRENCES,
    OLD,
    OLD_AND_SHUT,
    ONE_A_SLOT,
    PACED,
    PROBING,
    REPEATED,
    RETURNING,
    SAME_ID,
    SAME_TIME,
    SHUT_AND_MUTE,
    SLOW,
    SLOW_PROBES,
    SLOW_SLOT,
    STATES,
    THREE_STATES,
    TWO_EVENTS,
    TWO_SUBJECTS,
    UNSURE,
    WINDOW,
    YOUNG,
    late_puts,
    with_faults,
)

NO_DAYS = replace(SLOW, name="claims of no days", substitutions={"ClaimDays": "0"})
SHORT_LEASE = replace(SLOW, name="a lease of 100 s", substitutions={"LeaseSeconds": "100"})
ONE_BY_ONE = replace(COPIES, batch_size=1)
ZOMBIES = with_faults(ONE_BY_ONE, Fault.ZOMBIE, faults=3)
LATE = with_faults(ONE_BY_ONE, Fault.LATE, faults=2)
ONCE_EACH = replace(ONE_BY_ONE, deliveries=1)
LATE_ONCE = with_faults(ONCE_EACH, Fault.LATE, faults=2)
LATE_IN_A_WINDOW = late_puts(WINDOW, faults=3)
LATE_NEWEST = late_puts(NEWEST, faults=4)
UNANSWERED = with_faults(COPIES, Fault.ANSWER_LOST, Fault.ERROR, faults=3)
UNREADY = with_faults(TWO_SUBJECTS, Fault.OVERFLOW, faults=1)
IN_ORDER = replace(TWO_EVENTS, deliveries=1, kinds=frozenset())
ZOMBIE_STATES = replace(
    STATES, batch_size=1, kinds=frozenset({Fault.ZOMBIE, Fault.TWICE_AT_ONCE}), faults=2, zombies=1
)
NOTED = replace(PACED, messages=PACED.messages[:1], deliveries=3, kinds=frozenset({Fault.ACTION}))
ROUND_BY_ROUND = replace(TWO_EVENTS, deliveries=1)
ONE_SLOT = replace(ONE_A_SLOT, deliveries=1)
RETURNS = replace(RETURNING, kinds=frozenset({Fault.ACTION}), faults=1)
UNREAD = with_faults(NOTED, Fault.UNREAD, faults=4)
STALE_ANSWER = replace(
    NEARLY_OPEN,
    messages=(*NEARLY_OPEN.messages, Sent("C", subject="user/3")),
    kinds=frozenset({Fault.ACTION, Fault.ASKED_TO_WAIT}),
    faults=1,
    deliveries=1,
    batch_size=1,
)
CLOSED_MEANWHILE = replace(NEARLY_OPEN, kinds=frozenset({Fault.ACTION}), faults=1, batch_size=1)
PUT_OFF = replace(PACED, kinds=frozenset({Fault.ASKED_TO_WAIT}), faults=2, deliveries=1)
PROBED_FOR_NOTHING = replace(
    SLOW_PROBES, kinds=frozenset({Fault.ASKED_TO_WAIT}), faults=1, deliveries=1
)
UNPACED = with_faults(ONE_A_SLOT, Fault.PACING, faults=1)
NEVER_MS = 10**15
FRESH_STATES = replace(THREE_STATES, deliveries=1, kinds=frozenset())


def _unconditional(request: Callable[..., Any]) -> Callable[..., Any]:
    """The same request of pacing's without its condition."""

    def asked(*values: Any) -> Any:
        whole = request(*values)
        del whole["ConditionExpression"]
        update = whole.get("UpdateExpression", "")
        known = whole.pop("ExpressionAttributeValues", {})
        used = {name: value for name, value in known.items() if name in update}
        return whole | ({"ExpressionAttributeValues": used} if used else {})

    return asked


_ALLOWED = "'requestsAllowed': $event.policy.order = 'none' ? $pace.requestsAllowed : $made + 1"
_clear = breaker_row.clear
_end = payload._end
_end_probe = breaker_row.end_probe


def _whenever_it_failed(table: str, started_ms: int) -> dict[str, Any]:
    waits = "attribute_not_exists(not_before) OR not_before < :started"
    return _clear(table, started_ms) | {"ConditionExpression": waits}


def _reported(which: str) -> Edit:
    """Other messages are in the report, whether or not the record could be written."""
    said = "$distinct($records[outcome = 'RETRY'].messageId)"
    return both(
        *(text(name, said, f"$distinct({which})") for name in ("RecordOutcomes", "ReportBatch"))
    )


def _claim_unanswered_is_won(machine: States) -> None:
    won = machine["ClaimKey"]["Assign"]
    for name in ("wasSettled", "sentKey"):
        won = {
            **won,
            name: False if name == "wasSettled" else "{% $states.input.event.idempotencyKey %}",
        }
    machine["ClaimKey"]["Catch"][-1] |= {"Assign": won, "Next": "CheckOrder"}


def _by_the_state_alone(elements: list[Any]) -> list[Any]:
    """Collapses as if the key alone told a copy."""
    policy = {"order": "latest", "windowMs": 0}
    return collapse([one | {"policy": policy} if "policy" in one else one for one in elements])


def _whatever_is_waited_for(table: str, started_ms: int) -> dict[str, Any]:
    return _clear(table, started_ms) | {"ConditionExpression": "since < :started"}


MUTANTS = [
    # The claim's clauses.
    Mutant("clause 1, no row, is missing", without_clause("ClaimKey", 1), COPIES),
    Mutant("clause 2, expired, is missing", without_clause("ClaimKey", 2), EXPIRING),
    Mutant("clause 3, released, is missing", without_clause("ClaimKey", 3), COPIES),
    Mutant("clause 4, the owner died, is missing", without_clause("ClaimKey", 4), COPIES),
    Mutant("clause 5, my own put, is missing", without_clause("ClaimKey", 5), UNANSWERED),
    Mutant(
        "clause 6, the same state again, is missing", without_clause("ClaimKey", 6), OCCURRENCES
    ),
    # Their guards.
    Mutant("an unexpired claim is taken over", without_guard("ClaimKey", 2, 1), COPIES),
    Mutant("an expired claim is taken from its holder", without_guard("ClaimKey", 2, 2), NO_DAYS),
    Mutant("the expiry is compared with milliseconds", expiry_in_milliseconds, COPIES),
    Mutant("a claim of any status is released", without_guard("ClaimKey", 3, 1), ZOMBIES),
    Mutant("a released claim is taken over unseen", without_guard("ClaimKey", 3, 2), WINDOW),
    Mutant(
        "a claim that was released meanwhile is taken over",
        text("ReadClaim", "$row.status.S = 'FAILED' ? $row.owner.S : 'nobody'", "$row.owner.S"),
        ZOMBIES,
    ),
    Mutant("a claim of any status is a dead holder's", without_guard("ClaimKey", 4, 1), ZOMBIES),
    Mutant(
        "a lease that has not ended is taken over",
        without_guard("ClaimKey", 4, 2),
        with_faults(ONCE_EACH, Fault.ZOMBIE, faults=2),
    ),
    Mutant(
        "a lease is not respected",
        both(
            without_guard("ClaimKey", 4, 2),
            text("ReadClaim", " or $until < $millis()", " or true"),
        ),
        COPIES,
    ),
    Mutant("a dead holder's claim is taken over unseen", without_guard("ClaimKey", 4, 3), WINDOW),
    Mutant("my own claim may be put again when it is done", without_guard("ClaimKey", 5, 1), LATE),
    Mutant("anybody's claim in progress is mine", without_guard("ClaimKey", 5, 2), COPIES),
    Mutant(
        "my own late put forgets the occurrence",
        without_guard("ClaimKey", 5, 3),
        LATE_IN_A_WINDOW,
    ),
    Mutant("my own late put moves the time back", without_guard("ClaimKey", 5, 4), LATE_NEWEST),
    Mutant("my own late put forgets the tries", without_guard("ClaimKey", 5, 5), LATE),
    Mutant(
        "the same state again, whatever its status", without_guard("ClaimKey", 6, 1), OCCURRENCES
    ),
    Mutant("the same state again, whenever it was", without_guard("ClaimKey", 6, 2), COPIES),
    Mutant("the publisher's id may come again", without_guard("ClaimKey", 6, 3), SAME_ID),
    Mutant(
        "without a publisher's id nothing comes again",
        condition("ClaimKey", lambda old: old.replace("event_id = :none OR ", "")),
        OCCURRENCES,
    ),
    Mutant(
        "another publisher's id does not come again",
        condition("ClaimKey", lambda old: old.replace(" OR event_id <> :event_id", "")),
        IDS,
    ),
    # Who takes over, and with which key.
    Mutant("taken over without having looked", blind, WINDOW),
    Mutant("taken over unseen, the occurrence told by the put", kept_by_the_put, WINDOW),
    Mutant(
        "a successor forgets the occurrence",
        text(
            "ReadClaim",
            "$number($row.occurrence.N) : $claim.atMs",
            "$claim.atMs : $claim.atMs",
        ),
        WINDOW,
    ),
    Mutant(
        "a successor does not store the occurrence it keeps",
        text(
            "ClaimKey",
            "$string($states.input.claim.occurrenceMs)",
            "$string($states.input.claim.atMs)",
        ),
        WINDOW,
    ),
    Mutant(
        "a successor forgets the newest time",
        text("ReadClaim", "$max([$at, $claim.atMs])", "$claim.atMs"),
        NEWEST,
    ),
    Mutant(
        "a successor does not store the newest time",
        text(
            "ClaimKey",
            "$string($states.input.claim.timeMs)",
            "$string($states.input.claim.atMs)",
        ),
        NEWEST,
    ),
    Mutant(
        "the key does not tell the occurrence",
        text(
            "ClaimKey",
            "'.' & $string($abs($occurrenceMs))",
            "''",
        ),
        OCCURRENCES,
    ),
    Mutant(
        "the key tells the copy's time",
        text("ClaimKey", "$abs($occurrenceMs)", "$states.input.claim.atMs"),
        WINDOW,
    ),
    Mutant(
        "owner is the message alone",
        text(
            "SettleEvents",
            "$runId & '#' & $message.messageId",
            "$message.messageId",
        ),
        COPIES,
    ),
    Mutant("a lease shorter than the machine", no_edit, SHORT_LEASE),
    Mutant(
        "an unanswered claim is taken for won",
        _claim_unanswered_is_won,
        UNANSWERED,
    ),
    Mutant(
        "a claim is as good as unread when it cannot be read",
        goes("ReadClaim", "SkipDuplicate", "States.ALL"),
        with_faults(COPIES, Fault.ERROR),
    ),
    # What a refusal means.
    Mutant("DUPLICATE of whatever is in progress", default("JudgeClaim", "SkipDuplicate"), COPIES),
    Mutant(
        "DUPLICATE of another message in progress",
        text(
            "ReadClaim",
            "$same and $row.status.S = 'DONE' ?",
            "$same and ($row.status.S = 'DONE' or $not($row.message_id.S in $ours)) ?",
        ),
        COPIES,
    ),
    Mutant(
        "DUPLICATE of a released claim",
        text(
            "ReadClaim",
            "$same and $row.status.S = 'DONE' ?",
            "$same and $row.status.S != 'IN_PROGRESS' ?",
        ),
        COPIES,
    ),
    Mutant(
        "what has ended counts as held",
        text("ReadClaim", "$ended ? 'FREE' : 'HELD'", "'HELD'"),
        COPIES,
    ),
    Mutant(
        "what is held is claimed", rule("JudgeClaim", 4, "ClaimKey"), with_faults(COPIES, faults=2)
    ),
    Mutant(
        "an older occurrence is not stale",
        text("ReadClaim", "$found and $not($same) and $later > 0 ?", "false ?"),
        OCCURRENCES,
    ),
    Mutant(
        "a copy with the publisher's id is stale",
        text("ReadClaim", "$found and $not($same) and $later", "$found and $not($near) and $later"),
        SAME_ID,
    ),
    # What becomes of a batch.
    Mutant(
        "only the kept message is handed back",
        text(
            "SettleEvents",
            "'outcome': $end.outcome in ['PROCESSED', 'IGNORED'] ? 'DUPLICATE' : $end.outcome",
            "'outcome': 'DUPLICATE'",
        ),
        COPIES,
    ),
    Mutant(
        "what no round reached counts as done",
        text("OpenBatch", "'outcome': 'RETRY'", "'outcome': 'PROCESSED'"),
        TWO_EVENTS,
    ),
    Mutant(
        "what is not ready counts as done",
        text(
            "OpenBatch",
            "'outcome': 'RETRY'",
            "'outcome': $message.kind = 'retry' ? 'DUPLICATE' : 'RETRY'",
        ),
        UNREADY,
    ),
    Mutant(
        "copies are not returned",
        _reported("$records[outcome = 'RETRY' and $not($exists(copyOf))].messageId"),
        COPIES,
    ),
    Mutant(
        "the whole batch is returned",
        _reported("$batch.messageId"),
        TWO_SUBJECTS,
    ),
    Mutant(
        "the end of another is taken for one's own",
        text("SettleEvents", "$states.result[messageId = $kept]", "$states.result[0]"),
        TWO_SUBJECTS,
    ),
    Mutant(
        "a round takes all of a subject",
        text(
            "NextRound",
            "[$map($distinct($left.subjectKey), function($subject) {"
            " $left[subjectKey = $subject][0].messageId })]",
            "[$left.messageId]",
        ),
        IN_ORDER,
    ),
    Mutant(
        "a round is not in the order of time",
        text("NextRound", "^(occurredAtMs)", "^(>occurredAtMs)"),
        IN_ORDER,
    ),
    Mutant(
        "a round is taken again",
        text("SettleEvents", "$not(messageId in $round) and ", ""),
        TWO_SUBJECTS,
    ),
    Mutant(
        "what follows a failed event of its subject is taken",
        text("SettleEvents", " and $not(subjectKey in $stuck)", ""),
        ROUND_BY_ROUND,
    ),
    Mutant("what is broken is not settled", text("OpenBatch", " or kind = 'parked'", ""), MIXED),
    Mutant(
        "what is broken and could not be parked is parked",
        goes("ParkEvent", "Parked", "States.ALL"),
        with_faults(MIXED, Fault.ERROR),
    ),
    # The newest time.
    Mutant("newest: clause 1, no row, is missing", without_clause("AdvanceLatest", 1), STATES),
    Mutant(
        "newest: clause 2, expired, is missing", without_clause("AdvanceLatest", 2), EXPIRING_STATES
    ),
    Mutant(
        "newest: clause 3, not older, is missing", without_clause("AdvanceLatest", 3), FRESH_STATES
    ),
    Mutant("newest: moved whatever it is", without_condition("AdvanceLatest"), STATES),
    Mutant(
        "newest: < for <=",
        both(
            condition(
                "AdvanceLatest",
                lambda old: old.replace("event_time <= :time", "event_time < :time"),
            ),
            text("ReadLatest", "$number($row.event_time.N) > ", "$number($row.event_time.N) >= "),
        ),
        SAME_TIME,
    ),
    Mutant(
        "newest: nothing is stale",
        goes("AdvanceLatest", "RunAction", "DynamoDB.ConditionalCheckFailedException"),
        STATES,
    ),
    Mutant(
        "newest: the window is not given",
        text("ReadLatest", " + $unsureMs", ""),
        CLOSE_STATES,
    ),
    Mutant(
        "newest: unknown counts as newest",
        goes("AdvanceLatest", "RunAction", "States.ALL"),
        with_faults(STATES, Fault.ERROR),
    ),
    # Completing and releasing.
    Mutant("complete is unconditional", without_condition("Processed"), ZOMBIES),
    Mutant("anybody completes", without_guard("Processed", 1, 1), ZOMBIES),
    Mutant("complete in any status", without_guard("Processed", 1, 2), LATE_ONCE),
    Mutant("closing is unconditional", without_condition("CloseClaim"), ZOMBIES),
    Mutant("anybody closes a claim", without_guard("CloseClaim", 1, 1), ZOMBIES),
    Mutant("anybody closes a stale one", without_guard("CloseClaim", 1, 1), ZOMBIE_STATES),
    Mutant("closing in any status", without_guard("CloseClaim", 1, 2), LATE_ONCE),
    Mutant(
        "a stale event whose claim cannot be closed is settled",
        text(
            "CloseClaim",
            "$verdict.outcome in ['STALE', 'DUPLICATE', 'IGNORED']"
            " ? {'outcome': 'RETRY', 'reason': 'CLAIM_UNANSWERED'} : {}",
            "{}",
        ),
        with_faults(NEWEST, Fault.ZOMBIE, faults=2),
    ),
    Mutant("an event that no route wants is acted on", without_rule("CheckOrder", 2), IGNORED),
    Mutant("a state that no route wants is acted on", without_rule("JudgeOrder", 2), IGNORED_STATE),
    Mutant(
        "a state that no route wants does not make older ones stale",
        text("CheckOrder", "$event.policy.order = 'none' and ($exists", "($exists"),
        IGNORED_STATE,
    ),
    Mutant(
        "pacing is asked for an event that no route wants",
        text("OpenBatch", "$exists(route.ignored) or expiresAtMs < $millis()", "false"),
        IGNORED_AND_SHUT,
    ),
    Mutant(
        "an expired event is acted on",
        text(
            "CheckOrder",
            "($exists($event.route.ignored) or $event.expiresAtMs < $millis())",
            "$exists($event.route.ignored)",
        ),
        EXPIRED,
    ),
    Mutant(
        "an expired state does not make older ones stale",
        text("CheckOrder", "$event.policy.order = 'none' and ($exists", "($exists"),
        EXPIRED_STATE,
    ),
    Mutant(
        "an event that no route wants releases its claim",
        text(
            "CloseClaim",
            "and $verdict.reason != 'EXPIRED' ?",
            "and $verdict.outcome != 'IGNORED' ?",
        ),
        IGNORED,
    ),
    Mutant(
        "an expired event keeps its claim",
        text("CloseClaim", "and $verdict.reason != 'EXPIRED' ?", "?"),
        EXPIRED,
    ),
    Mutant("an acted event is released", goes("Processed", "CloseClaim", "States.ALL"), UNANSWERED),
    Mutant("an acted event is returned", goes("Processed", "Returned", "States.ALL"), UNANSWERED),
    Mutant(
        "a refused release is a success",
        goes("CloseClaim", "ProcessedUnconfirmed", "States.ALL"),
        UNANSWERED,
    ),
    Mutant("a released event is done", goes("CloseClaim", "ProcessedUnconfirmed"), COPIES),
    Mutant(
        "complete does not renew the expiry",
        text("Processed", ", expires_at = :expires", ""),
        EXPIRING,
    ),
    Mutant(
        "closing does not renew the expiry",
        text("CloseClaim", ", expires_at = :expires", ""),
        EXPIRING_WINDOW,
    ),
    Mutant(
        "newest: does not renew the expiry",
        text("AdvanceLatest", ", expires_at = :expires", ""),
        EXPIRING_STATES,
    ),
    # A state that returns, and one that has not changed.
    Mutant(
        "a second request does not ask for a newer state",
        text(
            "RunAction",
            "$event.policy.order = 'none' ? $pace.requestsAllowed : $made + 1",
            "$pace.requestsAllowed",
        ),
        STATES,
    ),
    Mutant(
        "changes: a state that returns is a copy",
        text("SettleEvents", "$policy.order = 'changes' ? 0", "$policy.order = 'changes' ? 60000"),
        RETURNS,
    ),
    Mutant(
        "changes: a state that returns is collapsed in its batch",
        no_edit,
        RETURNS,
        ("proof.explorer.scenario.collapse", _by_the_state_alone),
    ),
    Mutant(
        "changes: nothing is unchanged",
        text("AdvanceLatest", "$event.policy.order = 'changes' and", "false and"),
        replace(REPEATED, kinds=frozenset()),
    ),
    Mutant(
        "changes: a state that was never settled is unchanged",
        text("AdvanceLatest", "and $wasSettled", ""),
        REPEATED,
    ),
    Mutant(
        "changes: a parked state is settled",
        text("ClaimKey", " and $states.result.Attributes.outcome.S != 'PARKED'", ""),
        REPEATED,
    ),
    Mutant(
        "changes: a settled state is unchanged, whatever came between",
        text("AdvanceLatest", "and $before.state.S = $claim.sk", ""),
        RETURNS,
    ),
    Mutant(
        "changes: my own write says that I am unchanged",
        text("AdvanceLatest", " and $before.owner.S != $claim.owner", ""),
        with_faults(RETURNS, Fault.ANSWER_LOST),
    ),
    Mutant(
        "changes: an unchanged state does not move the time",
        text(
            "AdvanceLatest", "event_time = :time", "event_time = if_not_exists(event_time, :time)"
        ),
        replace(REPEATED, kinds=frozenset()),
    ),
    Mutant(
        "changes: an unsure state is the newest",
        text("ReadLatest", "'state': ''", "'state': $claim.sk"),
        UNSURE,
    ),
    # Parking.
    Mutant("an event is parked after its row", park_after_the_row, UNANSWERED),
    Mutant(
        "a parked event is released",
        text(
            "CloseClaim",
            "$exists($verdict.outcome) and $verdict.reason != 'EXPIRED' ? 'DONE' : 'FAILED'",
            "'FAILED'",
        ),
        COPIES,
    ),
    Mutant(
        "what could not be parked is parked", goes("ParkEvent", "Parked", "States.ALL"), UNANSWERED
    ),
    Mutant(
        "what waited for too long is called",
        without_rule("CheckOrder", 3),
        OLD,
    ),
    # Tries.
    Mutant(
        "a successor does not store the tries",
        text("ClaimKey", "$string($states.input.claim.tries)", "'0'"),
        NOTED,
    ),
    Mutant("a successor forgets the tries", text("ReadClaim", "$number($row.tries.N)", "0"), NOTED),
    Mutant(
        "a successor does not store that it failed",
        text("ClaimKey", "$string($states.input.claim.failedAtMs)", "'0'"),
        NOTED,
    ),
    Mutant(
        "a release does not store the tries",
        text("CloseClaim", "$merge([$claim, $verdict]).tries", "$claim.tries"),
        PACED,
    ),
    Mutant(
        "every failure is a try",
        text(
            "RunAction",
            " and ($first or $answered and $claim.failedAtMs < $startedMs)",
            "",
        ),
        NOTED,
    ),
    Mutant(
        "a try counts although the row was read before the failure",
        text("RunAction", " and $claim.failedAtMs < $startedMs", ""),
        COPIES_PACED,
    ),
    Mutant(
        "a failure is a try, though nobody knows whether others were answered",
        text("RunAction", "$failed and $not($breakerUnread)", "$failed"),
        UNREAD,
    ),
    Mutant(
        "a failure is no try",
        text("RunAction", "$tries := $claim.tries + ($counts ? 1 : 0)", "$tries := $claim.tries"),
        PACED,
    ),
    Mutant("nobody is given up", without_rule("JudgeFailure", 1), PACED),
    # Waiting.
    Mutant(
        "a failure counts again towards an outage",
        text("RunAction", "'failedBefore': $claim.failedAtMs > 0", "'failedBefore': false"),
        NOTED,
    ),
    Mutant(
        "an open breaker is not respected",
        no_edit,
        NEVER_CLOSING,
        ("once_pacing.steps.judge", lambda *_: Flow()),
    ),
    Mutant(
        "a wait that was asked for is not respected",
        no_edit,
        replace(PUT_OFF, deliveries=2),
        (
            "once_pacing.steps.judge",
            lambda row, *rest: judge(row and replace(row, not_before_ms=None), *rest),
        ),
    ),
    Mutant("a few failures are an outage", no_edit, NOTED, ("once_pacing.breaker.MOST_FAILED", 1)),
    Mutant(
        "failures of a moment are an outage",
        no_edit,
        YOUNG,
        (
            "once_pacing.steps.judge",
            lambda row, now_ms, times: judge(row, now_ms, replace(times, evidence_ms=0)),
        ),
    ),
    Mutant(
        "a breaker is opened that was closed meanwhile",
        no_edit,
        CLOSED_MEANWHILE,
        ("once_pacing.breaker_row.open_", _unconditional(breaker_row.open_)),
    ),
    Mutant(
        "a probe is two calls",
        text("RunAction", _ALLOWED, "'requestsAllowed': 2"),
        PROBING,
    ),
    Mutant(
        "the whole batch probes",
        text("AskPace", "$not($id in $states.result.Payload.returned.messageId)", "true"),
        PROBING,
    ),
    Mutant(
        "a probe that was held up calls beside the next one",
        text("RunAction", "'deadlineMs': $pace.requestUntilMs", "'deadlineMs': $deadlineMs"),
        PROBED_FOR_NOTHING,
    ),
    Mutant(
        "a probe that made no call ends another's",
        no_edit,
        PROBED_FOR_NOTHING,
        ("once_pacing.breaker_row.end_probe", _unconditional(breaker_row.end_probe)),
    ),
    Mutant(
        "a probe that made no call keeps its turn",
        no_edit,
        PROBED_FOR_NOTHING,
        (
            "once_pacing.breaker_row.end_probe",
            lambda table, until, _now: _end_probe(table, until, until),
        ),
    ),
    Mutant(
        "a shorter wait ends a longer one",
        no_edit,
        PUT_OFF,
        (
            "once_pacing.breaker_row.note_rate_limited",
            _unconditional(breaker_row.note_rate_limited),
        ),
    ),
    Mutant(
        "a wait of hours is obeyed in one step",
        no_edit,
        PUT_OFF,
        (
            "once_pacing.breaker_row.rate_limited_until_ms",
            lambda now_ms, seconds: now_ms + 1000 * seconds,
        ),
    ),
    Mutant(
        "what waited for too long needs leave to be parked",
        no_edit,
        OLD_AND_SHUT,
        ("once_pacing.steps.LONGEST_WAIT_MS", NEVER_MS),
    ),
    Mutant(
        "everybody probes",
        no_edit,
        PROBING,
        ("once_pacing.breaker_row.probe", _unconditional(breaker_row.probe)),
    ),
    Mutant(
        "an answer closes a younger breaker",
        no_edit,
        STALE_ANSWER,
        ("once_pacing.breaker_row.clear", _unconditional(breaker_row.clear)),
    ),
    Mutant(
        "an answer closes a breaker for failures after it",
        no_edit,
        replace(STALE_ANSWER, kinds=frozenset({Fault.ACTION})),
        ("once_pacing.breaker_row.clear", _whenever_it_failed),
    ),
    Mutant(
        "an answer ends a wait that began after it",
        no_edit,
        STALE_ANSWER,
        ("once_pacing.breaker_row.clear", _whatever_is_waited_for),
    ),
    Mutant(
        "a slot is never used up",
        no_edit,
        ONE_SLOT,
        ("once_pacing.slot_row.take", _unconditional(slot_row.take)),
    ),
    Mutant(
        "a token is two calls",
        text("RunAction", _ALLOWED, "'requestsAllowed': 2"),
        ONE_A_SLOT,
    ),
    Mutant(
        "used tokens are given back",
        no_edit,
        ONE_SLOT,
        ("once_pacing.payload._end", lambda asked: replace(_end(asked), requests=0)),
    ),
    Mutant(
        "a token lasts as long as its batch",
        text("RunAction", "'deadlineMs': $pace.requestUntilMs", "'deadlineMs': $deadlineMs"),
        SLOW_SLOT,
    ),
    Mutant(
        "without pacing what waited for too long waits on",
        text("AskPace", " or sentAtMs < $oldestMs", ""),
        LIMITED_AND_MUTE,
    ),
    Mutant(
        "without pacing an open breaker is not respected",
        text("AskPace", " and $max([0, $breaker.openUntil, $breaker.notBefore]) <= $millis()", ""),
        SHUT_AND_MUTE,
    ),
    Mutant(
        "without pacing a limit is not respected",
        text("AskPace", "$limit = 0 and $max(", "$max("),
        UNPACED,
    ),
]

# No promise needs these, since another precaution gives the same; each is there in case that fails.
IMPLIED = {
    "a claim of any status is released": (
        "only the owner whose claim was seen as released is succeeded, and it writes no more"
    ),
    "a lease that has not ended is taken over": (
        "only the owner that was seen is succeeded, and its lease was over when it was seen"
    ),
    "what is held is claimed": "a put succeeds only whom it saw let go, or at the end of his lease",
    "complete in any status": "until then nobody but its owner changes what a claim says",
    "closing in any status": "whoever has completed a claim never closes it",
    "a probe that made no call keeps its turn": (
        "the next probe comes when its pause is over, five minutes later at most"
    ),
    "a slot is never used up": "what is granted is only what was left",
    "what follows a failed event of its subject is taken": (
        "it spares a destination that has just failed; no event depends on it"
    ),
}
