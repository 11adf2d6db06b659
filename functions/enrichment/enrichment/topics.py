"""Reads topics: which template a topic name follows, its ids, and the words it is made of."""

import re
from functools import lru_cache

SLOT = "{id}"
_AN_ID = re.compile(r".*[0-9].*|[^.]*[-_@~ ].*")  # a word of a topic has neither digit nor dash


@lru_cache(maxsize=2048)
def family_name(template: str) -> str:
    """`v2.users.{id}.presence` is `user.presence`."""
    words = template.removeprefix("v2.").removeprefix("detail.events.").split(".")
    named = [
        singular(word) if words[at + 1 : at + 2] == [SLOT] else word
        for at, word in enumerate(words)
        if word != SLOT
    ]
    return ".".join(named)


@lru_cache(maxsize=2048)
def slot_names(template: str) -> tuple[str, ...]:
    """What the ids in a template's slots are called: the noun before the slot."""
    words = template.split(".")
    names: list[str] = []
    for at, word in enumerate(words):
        if word == SLOT:
            noun = next((w for w in reversed(words[:at]) if w != SLOT), "topic")
            name = f"{singular(noun)}Id"
            names.append(name if name not in names else f"{name}{len(names) + 1}")
    return tuple(names)


def singular(noun: str) -> str:
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun


@lru_cache(maxsize=2048)
def _pattern(template: str) -> re.Pattern[str]:
    return re.compile("(.+?)".join(map(re.escape, template.split(SLOT))), re.DOTALL)


def slots(template: str, topic: str) -> tuple[str, ...] | None:
    """The ids that `topic` has in the template's slots; None where it does not follow it."""
    if SLOT in topic:
        return None
    found = _pattern(template).fullmatch(topic)
    return found.groups() if found else None


@lru_cache(maxsize=2048)
def guess_template(topic: str) -> str:
    """The template of a topic that came without one: what looks like an id becomes a slot."""
    head, *rest = topic.split(".")
    return ".".join([head, *(SLOT if _AN_ID.fullmatch(word) else word for word in rest)])
