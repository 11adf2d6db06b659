"""A definition for each switch of `readings` that depends on it: it ends differently with the
switch either way, and no other switch makes a difference.

They show that each switch decides something. Our definition ends alike with each switch either way,
so it depends on none.
"""

from dataclasses import dataclass
from typing import Any

from proof.explorer.mutants import Edit, text


@dataclass(frozen=True)
class Mutant:
    """`switch` is named as in `Readings.others`."""

    switch: str
    rests_on: str
    scenario: str
    edit: Edit
    # Switches that say the same and more.
    implied_by: frozenset[str] = frozenset()


def _too_large_an_answer_is_left_to_all(machine: dict[str, Any]) -> None:
    del machine["RunAction"]["Catch"][0]


def _a_choice_assigns_for_all_its_rules(machine: dict[str, Any]) -> None:
    choice = machine["JudgeClaim"]
    for rule in choice["Choices"]:
        rule.pop("Assign", None)
    choice["Assign"] = {"verdict": "{% $states.input.claim.verdict %}"}


def _a_wait_says_when_it_was_over(machine: dict[str, Any]) -> None:
    machine["WaitForOwner"]["Assign"] = {"waitedUntilMs": "{% $millis() %}"}
    text("ReadClaim", "$until < $millis()", "$until < $waitedUntilMs")(machine)


def _throttling_is_caught_by_its_code(machine: dict[str, Any]) -> None:
    machine["ClaimKey"]["Catch"].insert(
        1,
        {
            "ErrorEquals": ["DynamoDB.ThrottlingException"],
            "Assign": {"verdict": {"reason": "THROTTLED"}},
            "Next": "Returned",
        },
    )


MUTANTS = (
    Mutant(
        "states_all_catches_data_limit-true",
        "States.ALL catches an answer that is too large, though the page on errors says no.",
        "answer-too-large",
        _too_large_an_answer_is_left_to_all,
    ),
    Mutant(
        "choice_assign-always",
        "A Choice's own Assign is evaluated although one of its rules matched.",
        "copy-after-the-first-acted",
        _a_choice_assigns_for_all_its_rules,
    ),
    Mutant(
        "wait_assign-before",
        "A Wait's Assign is evaluated when the wait is over.",
        "lease-ends-while-a-copy-waits",
        _a_wait_says_when_it_was_over,
    ),
    Mutant(
        "arguments-once",
        "A task that is retried evaluates its Arguments again, here for a key of each try.",
        "action-fails-for-a-moment",
        text(
            "RunAction",
            "'idempotencyKey': $sentKey",
            "'idempotencyKey': $sentKey & '.' & $string($states.context.State.RetryCount)",
        ),
    ),
    Mutant(
        "millis-expression",
        "Two expressions that a state evaluates together see the same $millis().",
        "one-event",
        text(
            "NextRound",
            "$millis() < $deadlineMs",
            "$millis() < $deadlineMs and $pace.requestUntilMs = $deadlineMs",
        ),
        # A clock that moves within an expression moves between two of them.
        implied_by=frozenset({"millis-call"}),
    ),
    Mutant(
        "millis-call",
        "An expression that asks for $millis() twice is told the same.",
        "one-event",
        text(
            "NextRound",
            "$millis() < $deadlineMs",
            "$millis() < $deadlineMs and $millis() = $millis()",
        ),
    ),
    Mutant(
        "error_names-codes",
        "The optimised integration names a throttled call by DynamoDB's own code.",
        "table-throttled-throughout",
        _throttling_is_caught_by_its_code,
    ),
)
