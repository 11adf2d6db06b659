"""The mutants: every clause and guard of the protocol is missing once, and so is every precaution."""

from dataclasses import replace

from tests.explorer.mutants import (
    Mutant,
    blind,
    both,
    condition,
    expiry_in_milliseconds,
    goes,
    kept_by_the_put,
    park_after_the_row,
    text,
    without_clause,
    without_condition,
    without_guard,
)
from tests.explorer.scenario import Fault, Sent
from tests.explorer.scenarios import (
    COPIES,
    OCCURRENCES,
    SAME_EVENT_ID,
    SAME_TIME,
    STATES,
    WINDOWED_COPIES,
    with_faults,
)

SLOW = replace(COPIES, name="two copies, in slow executions", tick_seconds=105, deliveries=1)
EXPIRING = replace(SLOW, name="a copy after the claim's days", expiries=1)
EXPIRING_STATES = replace(
    STATES, name="a state after the claim's days", tick_seconds=105, expiries=1, deliveries=1
)
EXPIRING_WINDOW = replace(EXPIRING, messages=WINDOWED_COPIES.messages, window_ms=500)
NO_DAYS = replace(SLOW, name="claims of no days", substitutions={"ClaimDays": "0"})
SHORT_LEASE = replace(SLOW, name="a lease of 100 s", substitutions={"LeaseSeconds": "100"})
ZOMBIES = with_faults(COPIES, Fault.ZOMBIE, faults=4)
LATE = with_faults(COPIES, Fault.LATE, faults=4)
UNANSWERED = with_faults(COPIES, Fault.ANSWER_LOST, Fault.ERROR, faults=4)
REPLAYED = replace(COPIES, name="a parked event is replayed", replays=1, deliveries=1)
DEFERRED = with_faults(STATES, Fault.ASKED_TO_WAIT, faults=3)
IDS = replace(
    OCCURRENCES,
    name="a state that comes twice, with the publisher's ids",
    messages=(Sent("A", 1000, "e1"), Sent("B", 5000, "e2")),
)
THREE_STATES = replace(
    STATES,
    name="three states, of which the newest counts",
    messages=(Sent("X", 1000, state="x"), Sent("Y", 2000, state="y"), Sent("Z", 3000, state="z")),
    deliveries=1,
    kinds=frozenset(),
)
CLOSE_STATES = replace(
    STATES,
    name="two states within the window of their clock",
    messages=(Sent("X", 1000, state="x"), Sent("Y", 1300, state="y")),
    window_ms=500,
)
UNORDERED_STATES = replace(STATES, name="two states, in batches", latest=False)

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
    Mutant(
        "a released claim goes to an older occurrence", without_guard("ClaimKey", 3, 2), OCCURRENCES
    ),
    Mutant(
        "a released claim is taken over unseen", without_guard("ClaimKey", 3, 3), WINDOWED_COPIES
    ),
    Mutant("a claim of any status is a dead holder's", without_guard("ClaimKey", 4, 1), ZOMBIES),
    Mutant("a lease that has not ended is taken over", without_guard("ClaimKey", 4, 2), ZOMBIES),
    Mutant(
        "a dead holder's claim goes to an older occurrence",
        without_guard("ClaimKey", 4, 3),
        OCCURRENCES,
    ),
    Mutant(
        "a dead holder's claim is taken over unseen",
        without_guard("ClaimKey", 4, 4),
        WINDOWED_COPIES,
    ),
    Mutant("my own claim may be put again when it is done", without_guard("ClaimKey", 5, 1), LATE),
    Mutant("anybody's claim in progress is mine", without_guard("ClaimKey", 5, 2), COPIES),
    Mutant(
        "the same state again, whatever its status", without_guard("ClaimKey", 6, 1), OCCURRENCES
    ),
    Mutant("the same state again, whenever it was", without_guard("ClaimKey", 6, 2), COPIES),
    Mutant("the publisher's id may come again", without_guard("ClaimKey", 6, 3), SAME_EVENT_ID),
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
    Mutant("taken over without having looked", blind, WINDOWED_COPIES),
    Mutant("taken over unseen, the occurrence told by the put", kept_by_the_put, WINDOWED_COPIES),
    Mutant(
        "a successor forgets the occurrence",
        text(
            "ReadClaim",
            "$number($row.occurrence.N) : $event.occurredAtMs",
            "$event.occurredAtMs : $event.occurredAtMs",
        ),
        WINDOWED_COPIES,
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
        WINDOWED_COPIES,
    ),
    Mutant(
        "owner is the message alone",
        text("TakeEvent", "$runId & '#' & $todo[0].messageId", "$todo[0].messageId"),
        COPIES,
    ),
    Mutant("a lease shorter than the machine", lambda machine: None, SHORT_LEASE),
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
        "newest: clause 3, not older, is missing", without_clause("AdvanceLatest", 3), THREE_STATES
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
    Mutant("complete in any status", without_guard("CompleteClaim", 1, 2), LATE),
    Mutant("release is unconditional", without_condition("ReleaseClaim"), ZOMBIES),
    Mutant("anybody releases", without_guard("ReleaseClaim", 1, 1), ZOMBIES),
    Mutant("release in any status", without_guard("ReleaseClaim", 1, 2), LATE),
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
        UNANSWERED,
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
    Mutant(
        "release does not store the occurrence",
        text("ReleaseClaim", ", occurrence = :occurrence", ""),
        WINDOWED_COPIES,
    ),
    # Parking.
    Mutant(
        "a refused event is parked after its release",
        park_after_the_row("Rejected", "ParkRejected", "ReleaseClaim"),
        COPIES,
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
