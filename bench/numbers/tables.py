"""A table of Markdown: the first column to the left, figures to the right."""

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    rule = "|" + "|".join("---" if at == 0 else "--:" for at, _ in enumerate(head)) + "|"
    return "\n".join([row(head), rule, *map(row, rows)]) + "\n"
