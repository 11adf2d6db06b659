"""Lambda entry of the enrichment."""

import os
from functools import cache
from pathlib import Path
from typing import Any

from once_enrichment import bucket
from once_enrichment.batch import enrich, refuse
from once_enrichment.contract import RetryReason
from once_enrichment.routes import Routes
from once_enrichment.routes_file import InvalidRoutesError, read
from once_enrichment.settings import Settings

_FOLDER = Path(__file__).resolve().parents[1]


def handler(event: list[Any], _context: object) -> list[dict[str, Any]]:
    """One element for each message of the batch, in their order."""
    try:
        routes = _routes()
    except InvalidRoutesError as error:
        return refuse(event, RetryReason.ROUTES_INVALID, str(error))
    return enrich(event, bucket.write, routes)


@cache
def _routes() -> Routes:
    name = Settings.read(os.environ).routes_file
    try:
        text = (_FOLDER / name).read_text("utf-8")
    except (OSError, ValueError):
        raise InvalidRoutesError(
            f"RoutesFile names {name}, and the function has no such file; "
            "put it in functions/enrichment and deploy"
        ) from None
    return read(name, text)
