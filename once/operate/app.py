"""Registers every command that operates a stack."""

import typer

from once.operate import check, dead_letters, explain, forget, parked, permissions, pipe, status, up


def register(app: typer.Typer) -> None:
    for module in (explain, status, parked, dead_letters, forget, check, pipe, permissions, up):
        module.register(app)
