"""Reads topics: which template a topic name follows, its ids, and the words it is made of."""

import re
from collections.abc import Iterable

from once_enrichment.keys import digest, is_plain

SLOT = "{id}"
# A word of a topic has neither digit nor dash; what Genesys puts in a slot nearly always has.
_AN_ID = re.compile(r"[-0-9@~: ]")

_FAMILY = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")


def family_name(template: str) -> str:
    """Returns `user.presence` for `v2.users.{id}.presence`; a hash if that may be any text."""
    words = template.removeprefix("v2.").removeprefix("detail.events.").split(".")
    named = [
        singular(word) if words[at + 1 : at + 2] == [SLOT] else word
        for at, word in enumerate(words)
        if word != SLOT
    ]
    name = ".".join(named)
    if _FAMILY.fullmatch(name) and is_plain(name):
        return name
    return f"event.{digest(template)[:8]}"


def covers(pattern: str, family: str) -> bool:
    """Returns true if a name, or a beginning that ends in `*`, is that of the family."""
    if pattern.endswith("*"):
        return family.startswith(pattern[:-1])
    return family == pattern


def slot_names(template: str) -> tuple[str, ...]:
    """Names the ids in a template's slots after the noun before each slot."""
    words = template.split(".")
    names: list[str] = []
    for at, word in enumerate(words):
        if word == SLOT:
            nouns = (singular(word) for word in reversed(words[:at]) if word != SLOT)
            name = f"{next(filter(None, nouns), 'topic')}Id"
            names.append(name if name not in names else f"{name}{len(names) + 1}")
    return tuple(names)


def singular(noun: str) -> str:
    """Returns `user` for `users`."""
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


def slots(template: str, topic: str) -> tuple[str, ...]:
    """Returns the ids that `topic` has in the template's slots; none if it does not follow it.

    Each slot ends where the text after it is met first. The template comes with the message, so
    this must take no longer than the topic is long; a regular expression would go back.
    """
    if SLOT in topic or SLOT not in template:
        return ()
    start, *between, end = template.split(SLOT)
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


def template_of(topic: str, known: Iterable[str]) -> str:
    """Returns the template of a topic that came without one: a known one, or a guess by ids."""
    words = topic.split(".")
    guess = (SLOT if at and _AN_ID.search(word) else word for at, word in enumerate(words))
    fitting = (template for template in known if _fits(template.split("."), words))
    return next(fitting, ".".join(guess))


def _fits(template: list[str], words: list[str]) -> bool:
    return len(template) == len(words) and all(
        step in (word, SLOT) for step, word in zip(template, words, strict=True)
    )
