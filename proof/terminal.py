"""What a test starts as a person would in a terminal."""

import signal


def hear_ctrl_c() -> None:
    """For `preexec_fn`: what a shell starts in the background ignores Ctrl-C, and so would all that
    it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
