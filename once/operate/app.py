"""Registers every command that operates a stack."""

import typer

from once.operate import explain, up


def register(app: typer.Typer) -> None:
    for module in (explain, up):
        module.register(app)
