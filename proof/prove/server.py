"""Starts the emulator that `make prove` asks in place of AWS."""

import json
from typing import Any

from ministack.services import stepfunctions

from once.local import server


def _test_states_with_their_variables() -> None:
    """ministack's TestState plays a state as if no variable were set."""
    test = stepfunctions._test_state

    def test_with_variables(asked: dict[str, Any]) -> Any:
        context = json.loads(asked.get("context") or "{}")
        variables = json.loads(asked.get("variables") or "{}")
        return test({**asked, "context": json.dumps({**context, "variables": variables})})

    stepfunctions._test_state = test_with_variables


if __name__ == "__main__":
    server.put_right()
    _test_states_with_their_variables()
    server.serve()
