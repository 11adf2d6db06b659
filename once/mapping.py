"""`once mapping check`: the operator's actions.toml, judged before it is deployed."""

import tomllib
from collections.abc import Collection, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from data_action import mapping
from data_action.mapping import Finding
from enrichment.families import FAMILIES
from enrichment.identity import id_names
from enrichment.topics import family_name, slot_names

from once.project import ROOT
from once.screen import put, say, screen

_EXAMPLE = "functions/data_action/actions.toml"
_SHIPPED = ROOT / "functions" / "data_action" / "actions.toml"


def register(app: typer.Typer) -> None:
    mapping = typer.Typer(
        no_args_is_help=True, help="Which data action each family of events calls."
    )
    mapping.callback()(_group)
    mapping.command("check", epilog=f"Example: once mapping check {_EXAMPLE}")(check)
    app.add_typer(mapping, name="mapping")


def _group() -> None:
    """Keeps `check` a command of its own."""


def check(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="The mapping.")
    ] = _SHIPPED,
) -> None:
    """Name every faulty or doubtful line of a mapping; ends with 1 if one is faulty."""
    text = file.read_text("utf-8")
    findings = mapping.check(text)
    if not any(finding.fatal for finding in findings):
        findings = sorted([*findings, *doubts(text)], key=lambda finding: finding.line)
    for finding in findings:
        say(f"{file}:{finding.line}: {'' if finding.fatal else 'note: '}{finding.text}")
    faults = sum(finding.fatal for finding in findings)
    if faults:
        put(screen(stderr=True), f"{faults} to correct before deploying", style="red")
        raise typer.Exit(1)
    say(f"{file}: no line is faulty")


def doubts(text: str) -> Iterator[Finding]:
    """What a valid mapping names that no event known here has, and what it leaves out."""
    actions: dict[str, Any] = tomllib.loads(text)["actions"]
    families = known_families()
    for pattern in actions:
        if pattern != "*" and not any(_matches(pattern, family) for family in families):
            yield Finding(
                _line_of(text, pattern),
                f'no topic known here has the family "{pattern}"{_meant(pattern, families)}; '
                "only a topic of your own may",
                fatal=False,
            )
    left = [one for one in families if not any(_matches(pattern, one) for pattern in actions)]
    if left:
        yield Finding(
            _line_of(text, "actions"),
            f"no line for {len(left)} families, whose events would wait: {', '.join(left)}. "
            f'"*" = "{mapping.OBSERVE}" only observes the rest',
            fatal=False,
        )
    ids = known_ids()
    for source in sorted(set(_sources(tomllib.loads(text)))):
        if source.startswith("ids.") and source.removeprefix("ids.") not in ids:
            yield Finding(
                _line_of(text, source),
                f'no event known here has "{source}"'
                f"{_meant(source, [f'ids.{name}' for name in ids])}; what is not there is left out",
                fatal=False,
            )


def known_families() -> list[str]:
    return sorted({family_name(topic) for family in FAMILIES for topic in family.topics})


def known_ids() -> list[str]:
    found: set[str] = set()
    for family in FAMILIES:
        flat, nested = id_names(tuple(family.body.__annotations__))
        found |= {*flat, *family.slots, f"{family.subject[0]}Id", *(f"{one}Id" for one in nested)}
        found |= {name for topic in family.topics for name in slot_names(topic)}
    return sorted(found)


def _matches(pattern: str, family: str) -> bool:
    return family.startswith(pattern[:-1]) if pattern.endswith("*") else family == pattern


def _meant(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f' (did you mean "{close[0]}"?)' if close else ""


def _sources(document: dict[str, Any]) -> Iterator[str]:
    own = [entry for entry in document["actions"].values() if isinstance(entry, dict)]
    for inputs in (document, *own):
        yield from inputs.get("inputs", {}).values()


def _line_of(text: str, name: str) -> int:
    lines = text.split("\n")
    named = (n for n, line in enumerate(lines, 1) if name in line.partition("#")[0])
    return next(named, len(lines))
