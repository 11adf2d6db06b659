"""Names, comments, messages and pages are in plain modern English, with one word for one thing."""

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

from proof.definition.asl import ROOT

# What is not said any more, and what is said in its place.
SAID_BETTER = {
    r"anew": "again, newly",
    r"lest": "so that … not",
    r"mend(s|ed|ing)?": "repair, fix, put right",
    r"befall(s|en)?": "happen to",
    r"for ever": "forever, always",
    r"be it that": "whether",
    r"weather": "what it means: faults, conditions",
    r"dice": "chances, random",
    r"leash": "timeout",
    r"keeper": "what it keeps",
    r"aftermath": "what happens afterwards",
    r"gates?": "breaker; an open gate let calls through, an open breaker does not",
    r"defer(s|red|ring|rals?)?": "hand back, with a return time",
    r"put(s|ting)? off": "hand back, with a return time",
    r"heed(s|ed|ing)?": "respect, keep to",
    r"home-?made": "your own, of a publisher of yours",
    r"emptying": "draining",
}
FORBIDDEN = re.compile(rf"(?<![a-z])({'|'.join(SAID_BETTER)})(?![a-z])")
CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
SPACE = re.compile(r"\s+#?\s*")

# Fine in a sentence; of a module it says nothing about what it does.
NO_MODULE = {"straight"}

TEXTS = {".py", ".md", ".yaml", ".yml", ".toml", ".svg", ".sh", ""}
PAGES = {".j2", ".html", ".css", ".js", ".mjs"}
# Not ours to word, or written from what is: recorded results, and contracts that others rely on.
ELSEWHERE = {"LICENSE", "bench/results", "schemas/published", "tests/test_english.py"}

# What a library calls it.
THEIRS = re.compile(r"\bdefer_build\b")  # pydantic's setting


def _files() -> Iterator[str]:
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [name for name in inner if name == ".github" or _is_ours(name)]
        for name in filter(_is_ours, names):
            path = Path(folder, name).relative_to(ROOT)
            elsewhere = any(path.is_relative_to(one) for one in ELSEWHERE)
            if not elsewhere and path.suffix in TEXTS | PAGES:
                yield path.as_posix()


def _is_ours(name: str) -> bool:
    return not name.startswith(".") and name not in ("node_modules", "__pycache__")


FILES = sorted(_files())
PYTHON = [name for name in FILES if name.endswith(".py")]


def _plain(text: str) -> str:
    """Words apart in names too, and sentences that go on over the end of a line."""
    return SPACE.sub(" ", CAMEL.sub(" ", THEIRS.sub("", text))).lower()


def found(text: str) -> set[str]:
    return {match.group(1) for match in FORBIDDEN.finditer(_plain(text))}


def told(text: str) -> set[str]:
    """Names of things. That somebody is told something, as tests' names say, is English."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        for field in ("id", "name", "arg", "attr"):
            name = getattr(node, field, None)
            if isinstance(name, str) and not name.startswith("test_"):
                names.add(name)
    return {name for name in names if re.fullmatch(r"_*([a-z]+_)?told(_(at|ms|by))?", name.lower())}


def test_the_words_that_went_are_seen_wherever_they_hide() -> None:
    assert found("deferredTo and `OpenGate`, written anew") == {"deferred", "gate", "anew"}
    assert found("kept for\n    # ever") == {"for ever"}
    assert found("home-made, emptying what nobody heeded") == {"home-made", "emptying", "heeded"}
    assert found("a gateway, amended") == set()
    assert told("told = 1\nself._told\ndef test_is_told(): ...") == {"told", "_told"}


def test_nothing_says_a_word_that_went() -> None:
    words = {
        name: found(name) | found((ROOT / name).read_text("utf-8", "replace")) for name in FILES
    }
    assert {name: said for name, said in words.items() if said} == {}


def test_a_module_is_named_by_what_it_does() -> None:
    assert [name for name in PYTHON if Path(name).stem in NO_MODULE] == []


def test_told_is_no_name() -> None:
    names = {name: told((ROOT / name).read_text("utf-8")) for name in PYTHON}
    assert {name: called for name, called in names.items() if called} == {}
