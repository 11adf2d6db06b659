"""Lambda entry of the enrichment."""

from typing import Any

from enrichment import bucket
from enrichment.collapse import collapse
from enrichment.normalise import normalise
from enrichment.overflow import fit


def handler(event: list[Any], _context: object) -> list[dict[str, Any]]:
    """One element for each message of the batch, in their order."""
    return fit(collapse([normalise(record) for record in event]), bucket.write)
