"""The exceptions whose message is meant for the person at the terminal."""


class OnceError(Exception):
    """Says what was wrong, where, and what to do next; shown without a traceback."""
