"""`once example`: prints events to send, or a server that receives them."""

import sys

import click

from once.cli_options import Output, standalone
from once.project import EXAMPLE

_FILES = {"story": "story.jsonl", "call": "call.jsonl", "receiver": "receiver.py"}


@standalone("once example call > call.jsonl")
@click.argument("what", type=click.Choice([*_FILES]), default="story")
def command(_: Output, what: str) -> None:
    """Print an example.

    story: events of 21 kinds, copies among them. call: one call, as Genesys sends it. receiver: a
    server that `once dev --forward` sends to.
    """
    sys.stdout.write(EXAMPLE.with_name(_FILES[what]).read_text("utf-8"))
