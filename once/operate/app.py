"""Registers every command that operates a stack."""

import typer

from once.operate import dead_letters, explain, forget, parked, pipe, status, up


def register(app: typer.Typer) -> None:
    for module in (explain, status, parked, dead_letters, forget, pipe, up):
        module.register(app)
