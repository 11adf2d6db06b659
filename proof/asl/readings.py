"""Switches for what AWS's documentation leaves open or contradicts.

A definition is sound when it ends alike whichever way a switch stands.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any


class ChoiceAssign(Enum):
    """The time at which the Assign of a Choice itself, outside its rules, is evaluated."""

    WITHOUT_MATCH = "only when no rule matched"
    ALWAYS = "whichever rule matched, before the rule's own"


class WaitAssign(Enum):
    """The time at which the Assign and the Output of a Wait are evaluated."""

    AFTER = "when the wait is over"
    BEFORE = "when the wait begins"


class Arguments(Enum):
    """The time at which the Arguments of a retried task are evaluated."""

    EACH_TRY = "for every try, at its own time and with its own RetryCount"
    ONCE = "once, when the state is entered"


class Millis(Enum):
    """The span in which $millis() stands still."""

    STATE = "within all expressions that a state evaluates together"
    EXPRESSION = "within one expression"
    CALL = "not at all"


@dataclass(frozen=True)
class Readings:
    # concepts-error-handling.html says no, twice; a recording of 2024-03-21 shows a caught one:
    # error_handling/test_states_errors.
    states_all_catches_data_limit: bool = False
    # state-choice.html says both: "applies regardless of which choice rule matches" under Choice
    # Rules, "mutually exclusive at runtime" under Using Assign. No recording decides.
    choice_assign: ChoiceAssign = ChoiceAssign.WITHOUT_MATCH
    # state-wait.html and workflow-variables.html name Wait among the states with an Assign and say
    # no more.
    wait_assign: WaitAssign = WaitAssign.AFTER
    # concepts-error-handling.html and state-task.html are silent; RetryCount in the context object
    # (input-output-contextobject.html) is of use in Arguments only if they are evaluated again.
    arguments: Arguments = Arguments.EACH_TRY
    # docs.jsonata.org/date-time-functions promises one value within an expression. Whether two
    # expressions of a state share it is said nowhere. That they do keeps a played scenario exact
    # to the millisecond; that they do not is the likelier.
    millis: Millis = Millis.STATE

    def others(self) -> Iterator[tuple[str, "Readings"]]:
        """Every switch the other way, one at a time, with a name for it."""
        for field in fields(self):
            value: bool | Enum = getattr(self, field.name)
            others = [not value] if isinstance(value, bool) else list(type(value))
            for other in others:
                if other is not value:
                    name = other.name.lower() if isinstance(other, Enum) else str(other).lower()
                    switched: dict[str, Any] = {field.name: other}
                    yield f"{field.name}-{name}", replace(self, **switched)
