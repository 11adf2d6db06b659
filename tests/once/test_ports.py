"""A port that is taken: the refusal names the command with a free one."""

import pytest

from once.errors import OnceError
from once.ports import listen


def test_taken_port_names_the_command_that_takes_a_free_one() -> None:
    with listen(0, "once dev") as listening:
        port = listening.getsockname()[1]
        with pytest.raises(OnceError, match=f"(?s)port {port}.*once dev --port 0"):
            listen(port, "once dev")
