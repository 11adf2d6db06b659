"""Leaves out the fields that ignored.toml lists: they may change without a change that matters."""

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any

from once_enrichment import paths

# Beside the package, where it is deployed from; a wheel carries it inside.
_FILES = [folder / "ignored.toml" for folder in Path(__file__).resolve().parents[:2]]
IGNORED: dict[str, list[str]] = tomllib.loads(
    next(path.read_text("utf-8") for path in _FILES if path.exists())
)


@lru_cache(maxsize=1024)
def ways_of(family: str) -> list[paths.Way]:
    """Returns the paths that a family ignores."""
    names = [n for n in IGNORED if n == family or (n[-1:] == "*" and family.startswith(n[:-1]))]
    return paths.ways(path for name in names for path in IGNORED[name])


def without(family: str, body: Any) -> Any:
    """Returns the body without what its family ignores."""
    return paths.without(body, ways_of(family))
