"""Registers every command that operates a stack."""

import typer

from once.operate import dead_letters, explain, parked, up


def register(app: typer.Typer) -> None:
    for module in (explain, parked, dead_letters, up):
        module.register(app)
