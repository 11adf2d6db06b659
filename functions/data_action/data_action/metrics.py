"""What CloudWatch is told of a call: one line of its embedded metric format on standard output.

By hand: it is one JSON object, and this function has no library but boto3's.
"""

import json
import os
import re
import time
from collections.abc import Mapping
from typing import Any

from .errors import ActionError


def acted(answer: Mapping[str, Any], payload: Mapping[str, Any]) -> str:
    attempts = int(payload.get("attempt") or 0) + 1
    return _line({"ACTION_MS": answer["durationMs"], "ATTEMPTS": attempts})


def failed(error: ActionError, payload: Any) -> str:
    """Counts the error by its class, and keeps what it says beside whose call it was."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(error).__name__).upper()
    execution = payload.get("execution") if isinstance(payload, Mapping) else None
    return _line({name: 1}, execution=execution, **json.loads(str(error)))


def _line(values: Mapping[str, float], **told: Any) -> str:
    directive = {
        "Namespace": "GenesysOnce",
        "Dimensions": [["Stack"]],
        "Metrics": [{"Name": name} for name in values],
    }
    metadata = {"Timestamp": time.time_ns() // 1_000_000, "CloudWatchMetrics": [directive]}
    stack = os.environ.get("STACK_NAME", "unknown")
    return json.dumps({"_aws": metadata, "Stack": stack, **values, **told}, separators=(",", ":"))
