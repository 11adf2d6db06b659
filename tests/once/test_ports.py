"""A port that is taken: the refusal names the command with a free one."""

import socket

import pytest

from once.errors import OnceError
from once.ports import listen


def test_a_taken_port_names_the_command_that_takes_a_free_one() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(OnceError) as refused:
            listen(other.getsockname()[1], "once dev")
    assert "once dev --port 0" in str(refused.value)


def test_a_free_port_is_taken_before_anything_is_served() -> None:
    with listen(0, "once dev") as listening:
        port = listening.getsockname()[1]
        with pytest.raises(OnceError, match=f"port {port}"):
            listen(port, "once dev")
