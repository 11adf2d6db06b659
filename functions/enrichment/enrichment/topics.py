"""Reads topics: which template a topic name follows, its ids, and the words it is made of."""

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import Any

SLOT = "{id}"
_END = ""  # in a tree of words, where a template ends
# A word of a topic has neither digit nor dash; what Genesys puts in a slot nearly always has.
_AN_ID = re.compile(r"[-0-9@~: ]")

_FAMILY = re.compile(r"[A-Za-z0-9._-]{1,100}")
_NO_WORD = re.compile(r"[^A-Za-z0-9._-]")


@lru_cache(maxsize=1024)
def family_name(template: str) -> str:
    """`v2.users.{id}.presence` is `user.presence`."""
    words = template.removeprefix("v2.").removeprefix("detail.events.").split(".")
    named = [
        singular(word) if words[at + 1 : at + 2] == [SLOT] else word
        for at, word in enumerate(words)
        if word != SLOT
    ]
    name = ".".join(named)
    if _FAMILY.fullmatch(name):
        return name
    tail = sha256(template.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_NO_WORD.sub('_', name)[:80]}.{tail}"


@lru_cache(maxsize=1024)
def slot_names(template: str) -> tuple[str, ...]:
    """What the ids in a template's slots are called: after the noun before the slot."""
    words = template.split(".")
    names: list[str] = []
    for at, word in enumerate(words):
        if word == SLOT:
            noun = next((w for w in reversed(words[:at]) if w != SLOT), "topic")
            name = f"{singular(noun)}Id"
            names.append(name if name not in names else f"{name}{len(names) + 1}")
    return tuple(names)


def singular(noun: str) -> str:
    """`users` is `user`."""
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def slots(template: str, topic: str) -> tuple[str, ...]:
    """The ids that `topic` has in the template's slots; none where it does not follow it.

    Each slot ends where the text after it is met first. The template comes with the message, so
    this must take no longer than the topic is long; a regular expression would go back.
    """
    if SLOT in topic:
        return ()
    start, *between, end = _texts(template)
    last = len(topic) - len(end)
    if not (topic.startswith(start) and topic.endswith(end)):
        return ()
    ids, at = [], len(start)
    for text in between:
        found = topic.find(text, at + 1, last)
        if found < 0:
            return ()
        ids.append(topic[at:found])
        at = found + len(text)
    return (*ids, topic[at:last]) if at < last else ()


def filled(template: str, ids: Iterable[str]) -> str:
    """The topic of a template with these ids in its slots."""
    for one in ids:
        template = template.replace(SLOT, one, 1)
    return template


@lru_cache(maxsize=1024)
def _texts(template: str) -> tuple[str, ...]:
    """What stands before, between and behind the slots."""
    texts = template.split(SLOT)
    return tuple(texts) if len(texts) > 1 else (template, "")


Tree = dict[str, Any]


def tree(templates: Iterable[str]) -> Tree:
    """Templates by their words, for `template_of`."""
    root: Tree = {}
    for template in templates:
        branch = root
        for word in template.split("."):
            branch = branch.setdefault(word, {})
        branch[_END] = template
    return root


def template_of(topic: str, known: Tree) -> str:
    """The template of a topic that came without one: a known one, or by what looks like an id."""
    words = topic.split(".")
    return _follow(words, known) or ".".join(
        SLOT if at and _AN_ID.search(word) else word for at, word in enumerate(words)
    )


def _follow(words: list[str], branch: Tree) -> str | None:
    if not words:
        return branch.get(_END)
    for step in (words[0], SLOT):
        if step in branch and step != _END:
            found = _follow(words[1:], branch[step])
            if found:
                return found
    return None
