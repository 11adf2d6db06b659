"""The mutants: each clause and each guard of the protocol missing once, and each precaution."""

from dataclasses import replace

from proof.explorer.mutants import (
    Mutant,
    blind,
    both,
    condition,
    expiry_in_milliseconds,
    goes,
    kept_by_the_put,
    no_edit,
    park_after_the_row,
    text,
    without_clause,
    without_condition,
    without_guard,
)
from proof.explorer.scenario import Fault
from proof.explorer.scenarios import (
    CLOSE_STATES,
    COPIES,
    EXPIRING,
    EXPIRING_STATES,
    EXPIRING_WINDOW,
    IDS,
    NEWEST,
    OCCURRENCES,
    REPLAYED,
    SAME_ID,
    SAME_TIME,
    SLOW,
    STATES,
    THREE_STATES,
    UNORDERED_STATES,
    WINDOW,
    late_puts,
    with_faults,
)

NO_DAYS = replace(SLOW, name="claims of no days", substitutions={"ClaimDays": "0"})
SHORT_LEASE = replace(SLOW, name="a lease of 100 s", substitutions={"LeaseSeconds": "100"})
ZOMBIES = with_faults(COPIES, Fault.ZOMBIE, faults=3)
LATE = with_faults(COPIES, Fault.LATE, faults=2)
LATE_IN_A_WINDOW = late_puts(WINDOW, faults=3)
LATE_NEWEST = late_puts(NEWEST, faults=4)
LATE_REPLAYED = with_faults(REPLAYED, Fault.LATE, faults=3)
UNANSWERED = with_faults(COPIES, Fault.ANSWER_LOST, Fault.ERROR, faults=3)
DEFERRED = with_faults(STATES, Fault.ASKED_TO_WAIT, faults=3)
FRESH_STATES = replace(THREE_STATES, deliveries=1, kinds=frozenset())

RETRY = {"outcome": "RETRY", "reason": "UNMARKED"}

MUTANTS = [
    # The claim's clauses.
    Mutant("clause 1, no row, is missing", without_clause("ClaimKey", 1), COPIES),
    Mutant("clause 2, expired, is missing", without_clause("ClaimKey", 2), EXPIRING),
    Mutant("clause 3, released, is missing", without_clause("ClaimKey", 3), COPIES),
    Mutant("clause 4, the holder died, is missing", without_clause("ClaimKey", 4), COPIES),
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
    Mutant("a claim of any status is a dead holder's", without_guard("ClaimKey", 4, 1), ZOMBIES),
    Mutant(
        "a lease that has not ended is taken over",
        without_guard("ClaimKey", 4, 2),
        with_faults(COPIES, Fault.ZOMBIE, faults=2),
    ),
    Mutant(
        "a lease is not heeded",
        both(
            without_guard("ClaimKey", 4, 2),
            text("ReadClaim", " and $number($row.lease_until.N) < $millis()", ""),
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
            "$number($row.occurrence.N) : $event.occurredAtMs",
            "$event.occurredAtMs : $event.occurredAtMs",
        ),
        WINDOW,
    ),
    Mutant(
        "a successor does not store the occurrence it keeps",
        text("ClaimKey", "$string($occurrenceMs)", "$string($event.occurredAtMs)"),
        WINDOW,
    ),
    Mutant(
        "a successor forgets the newest time",
        text("ReadClaim", "$max([$at, $event.occurredAtMs])", "$event.occurredAtMs"),
        NEWEST,
    ),
    Mutant(
        "a successor does not store the newest time",
        text("ClaimKey", "$string($timeMs)", "$string($event.occurredAtMs)"),
        NEWEST,
    ),
    Mutant(
        "the key does not tell the occurrence",
        text(
            "RunAction",
            "$event.idempotencyKey & '.' & $string($abs($occurrenceMs))",
            "$event.idempotencyKey",
        ),
        OCCURRENCES,
    ),
    Mutant(
        "the key tells the copy's time",
        text("RunAction", "$abs($occurrenceMs)", "$event.occurredAtMs"),
        WINDOW,
    ),
    Mutant(
        "owner is the message alone",
        text("TakeEvent", "$runId & '#' & $todo[0].messageId", "$todo[0].messageId"),
        COPIES,
    ),
    Mutant("a lease shorter than the machine", no_edit, SHORT_LEASE),
    Mutant(
        "a won claim keeps the verdict of the look",
        lambda machine: machine["ClaimKey"].pop("Assign"),
        COPIES,
    ),
    Mutant(
        "an unanswered claim is taken for won",
        goes(
            "ClaimKey",
            "CheckOrder",
            "States.ALL",
            verdict={"outcome": "PROCESSED", "reason": "ACTED"},
        ),
        UNANSWERED,
    ),
    # What a refusal means.
    Mutant(
        "DUPLICATE of whatever is in progress",
        text(
            "ReadClaim",
            "{'outcome': 'RETRY', 'reason': 'HELD'",
            "{'outcome': 'DUPLICATE', 'reason': 'HELD'",
        ),
        COPIES,
    ),
    Mutant(
        "DUPLICATE of another message in progress",
        text(
            "ReadClaim",
            "{'outcome': 'RETRY', 'reason': 'HELD'",
            "{'outcome': $mine ? 'RETRY' : 'DUPLICATE', 'reason': 'HELD'",
        ),
        COPIES,
    ),
    Mutant(
        "DUPLICATE of a released claim",
        text("ReadClaim", "$row.status.S = 'DONE' and", "$row.status.S != 'IN_PROGRESS' and"),
        COPIES,
    ),
    Mutant(
        "an older occurrence is not stale",
        text("ReadClaim", "$at > $laterMs and $not($sameEventId)", "false"),
        OCCURRENCES,
    ),
    Mutant(
        "a copy with the publisher's id is stale",
        text("ReadClaim", "$at > $laterMs and $not($sameEventId)", "$at > $laterMs"),
        SAME_ID,
    ),
    Mutant(
        "only the kept message is handed back",
        text(
            "SettleLanes",
            "'outcome': $found[0].outcome = 'PROCESSED' ? 'DUPLICATE' : $found[0].outcome",
            "'outcome': 'DUPLICATE'",
        ),
        COPIES,
    ),
    Mutant(
        "what no lane reached counts as done",
        text(
            "SettleLanes",
            "'outcome': 'RETRY', 'reason': $message.kind",
            "'outcome': 'PROCESSED', 'reason': $message.kind",
        ),
        UNORDERED_STATES,
    ),
    Mutant(
        "what waits for the destination is not handed back",
        text(
            "ReportBatch",
            "$records[outcome = 'RETRY' and",
            "$records[outcome = 'RETRY' and $not(reason in $deferrable) and",
        ),
        DEFERRED,
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
        text("ReadLatest", " + $event.policy.windowMs", ""),
        CLOSE_STATES,
    ),
    Mutant(
        "newest: unknown counts as newest",
        goes("AdvanceLatest", "RunAction", "States.ALL"),
        with_faults(STATES, Fault.ERROR),
    ),
    # Completing and releasing.
    Mutant("complete is unconditional", without_condition("CompleteClaim"), ZOMBIES),
    Mutant("anybody completes", without_guard("CompleteClaim", 1, 1), ZOMBIES),
    Mutant("complete in any status", without_guard("CompleteClaim", 1, 2), LATE_REPLAYED),
    Mutant("release is unconditional", without_condition("ReleaseClaim"), ZOMBIES),
    Mutant("anybody releases", without_guard("ReleaseClaim", 1, 1), ZOMBIES),
    Mutant("release in any status", without_guard("ReleaseClaim", 1, 2), LATE),
    Mutant(
        "what is stale and cannot be marked is settled",
        text("CompleteClaim", "$verdict.outcome = 'STALE' ? {'outcome': 'RETRY'} : {}", "{}"),
        with_faults(NEWEST, Fault.ZOMBIE, faults=2),
    ),
    Mutant(
        "an answered action is released",
        goes("CompleteClaim", "ReleaseClaim", "States.ALL", verdict=RETRY),
        UNANSWERED,
    ),
    Mutant(
        "an answered action is handed back",
        goes("CompleteClaim", "NoteOutcome", "States.ALL", verdict=RETRY),
        UNANSWERED,
    ),
    Mutant(
        "a refused release is a success",
        goes(
            "ReleaseClaim",
            "NoteOutcome",
            "States.ALL",
            verdict={"outcome": "PROCESSED", "reason": "ACTED"},
        ),
        UNANSWERED,
    ),
    Mutant(
        "an unreleased claim keeps its verdict",
        text("ReleaseClaim", "$merge([$verdict, {'outcome': 'RETRY'}])", "$verdict"),
        with_faults(COPIES, Fault.ANSWER_LOST, Fault.ERROR, faults=2),
    ),
    Mutant(
        "complete does not renew the expiry",
        text("CompleteClaim", ", expires_at = :expires", ""),
        EXPIRING,
    ),
    Mutant(
        "release does not renew the expiry",
        text("ReleaseClaim", ", expires_at = :expires", ""),
        EXPIRING_WINDOW,
    ),
    Mutant(
        "newest: does not renew the expiry",
        text("AdvanceLatest", " expires_at = :expires,", ""),
        EXPIRING_STATES,
    ),
    # Parking.
    Mutant(
        "a refused event is parked after its release",
        park_after_the_row("Rejected", "ParkRejected", "ReleaseClaim"),
        UNANSWERED,
    ),
    Mutant(
        "an uncertain event is parked after its mark",
        park_after_the_row("Uncertain", "ParkUncertain", "CompleteClaim"),
        COPIES,
    ),
    Mutant("a refused event is done", goes("ParkRejected", "CompleteClaim"), REPLAYED),
    Mutant(
        "what could not be parked is parked",
        goes(
            "ParkRejected",
            "NoteOutcome",
            "States.ALL",
            verdict={"outcome": "PARKED", "reason": "REJECTED"},
        ),
        UNANSWERED,
    ),
]

# No promise needs these, since another precaution gives the same; each is there in case that fails.
IMPLIED = {
    "a lease that has not ended is taken over": (
        "only the owner that was seen is succeeded, and its lease was over when it was seen"
    ),
    "complete in any status": "until then nobody but its owner changes what a claim says",
    "release in any status": "whoever has completed a claim never releases it",
    "an unreleased claim keeps its verdict": (
        "all but PARKED are RETRY already, and what is parked is not lost"
    ),
}
