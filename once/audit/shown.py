"""Hides ids and names in a report, so that nothing personal is left and each still has one name."""

import re
import secrets
from collections import Counter
from functools import lru_cache
from hashlib import blake2b

_LOOKS_LIKE_DATA = re.compile(r"[0-9a-fA-F-]{12,}|\d{4,}|@")
# Dates and numbers of parts stay: they say which file it is.
_LOOKS_LIKE_AN_ID = re.compile(
    r"[0-9a-fA-F]{12,}|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|\d{7,}|@|\+\d"
)


class Shown:
    """Writes ids and names as they are, or hashed with a key that is thrown away."""

    def __init__(self, with_ids: bool) -> None:
        self._with_ids = with_ids
        self._key = secrets.token_bytes(32)
        self._sources: dict[str, str] = {}
        self._times: Counter[str] = Counter()

    def id(self, text: str) -> str:
        if self._with_ids:
            return _printable(text)
        data = text.encode("utf-8", "surrogatepass")
        return blake2b(data, digest_size=4, key=self._key).hexdigest()

    def source(self, source: str) -> str:
        """Returns the integration's name, the last part of a partner's source.

        Two of the same name, or that may not be shown, are numbered.
        """
        if source in self._sources:
            return self._sources[source]
        name = source.rpartition("/")[2]
        shown = self._numbered(_printable(name) if self._with_ids else harmless(name))
        self._sources[source] = shown
        return shown

    def files(self, names: list[str]) -> list[str]:
        shown, safe = Shown(self._with_ids), []
        for name in names:
            if not self._with_ids:
                parts = re.split(r"([/.])", name)
                name = "".join("*" if _LOOKS_LIKE_AN_ID.search(part) else part for part in parts)
            safe.append(shown._numbered(_printable(name)))
        return safe

    def _numbered(self, name: str) -> str:
        self._times[name] += 1
        times = self._times[name]
        return name if times == 1 else f"{name} {times}"


@lru_cache(maxsize=4096)
def harmless(name: str) -> str:
    """Returns a name without what looks like an id, a number or an address."""
    return ".".join("*" if _LOOKS_LIKE_DATA.search(word) else word for word in name.split("."))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)
