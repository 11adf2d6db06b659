"""Lambda entry of the enrichment."""

from typing import Any

from enrichment import bucket
from enrichment.batch import enrich


def handler(event: list[Any], _context: object) -> list[dict[str, Any]]:
    """One element for each message of the batch, in their order."""
    return enrich(event, bucket.write)
