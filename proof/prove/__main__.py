"""Runs `make prove`."""

from proof.prove.command import app

app(prog_name="prove")
