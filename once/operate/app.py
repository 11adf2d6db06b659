"""Registers every command that operates a stack."""

import typer

from once.operate import up


def register(app: typer.Typer) -> None:
    for module in (up,):
        module.register(app)
