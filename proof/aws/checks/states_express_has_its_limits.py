"""An Express machine runs for five minutes, waits for no callback and no job, and its definition
has a megabyte at most.

Its name has 80 characters, as every state's has; a retry waits at most 31,622,400 seconds.
"""

import json
from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "step-functions/latest/dg/choosing-workflow-type.html",
        "Express: five minutes; no .sync, no .waitForTaskToken, no activities, no distributed Map.",
    ),
    page(
        "step-functions/latest/dg/service-quotas.html",
        "Definition 1 MB; names of 80 characters.",
    ),
)
_MOST_SECONDS, _MOST_BYTES, _MOST_CHARACTERS = 300, 1_000_000, 80


def findings(deployed: Deployed) -> Iterator[str]:
    if deployed.definition.get("TimeoutSeconds", _MOST_SECONDS) > _MOST_SECONDS:
        yield f"TimeoutSeconds is over {_MOST_SECONDS}"
    if len(json.dumps(deployed.definition)) > _MOST_BYTES:
        yield f"the definition is over {_MOST_BYTES:,} bytes"
    for name, state in deployed.states.items():
        if len(name) > _MOST_CHARACTERS:
            yield f"{name} is longer than {_MOST_CHARACTERS} characters"
        resource = state.get("Resource", "")
        if resource.endswith((".sync", ".sync:2", ".waitForTaskToken")) or ":activity:" in resource:
            yield f"{name} waits for what an Express machine cannot wait for: {resource}"
        mode = state.get("ItemProcessor", {}).get("ProcessorConfig", {}).get("Mode", "INLINE")
        if mode != "INLINE":
            yield f"{name} is a Map of mode {mode}"


def _ten_minutes(deployed: Deployed) -> None:
    deployed.definition["TimeoutSeconds"] = 600


def _callback(deployed: Deployed) -> None:
    deployed.states["ParkEvent"]["Resource"] += ".waitForTaskToken"


def _distributed(deployed: Deployed) -> None:
    processor = deployed.states["SettleEvents"]["ItemProcessor"]
    processor["ProcessorConfig"] = {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"}


BROKEN = {"ten minutes": _ten_minutes, "a callback": _callback, "a distributed Map": _distributed}
