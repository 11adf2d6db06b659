"""Starts commands as a user does in a terminal."""

import signal


def hear_ctrl_c() -> None:
    """Restores Ctrl-C, as a `preexec_fn`: a shell's background jobs ignore it, and so do their
    children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
