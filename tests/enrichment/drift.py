"""Shows what Genesys has changed in its topics since the pinned SDK, and what that means for keys.

Run: python -m tests.enrichment.drift FOLDER (`make drift`), where FOLDER holds a newer SDK. Writes
.once/drift.md, if a topic has changed.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.enrichment import sdk
from tests.enrichment.sdk import MODELS, Sdk
from tests.enrichment.sending import element

REPORT = Path(".once/drift.md")
_INNER = re.compile(r"\w+")
_TOPIC = re.compile(r"Topic[A-Z]|Notification$")


def shape(models: Sdk, model: str, path: str = "", above: tuple[str, ...] = ()) -> dict[str, str]:
    """Lists the type of each field of a body by its path."""
    found = {}
    for name, kind in models.fields(model).items():
        found[f"{path}{name}"] = kind
        for inner in _INNER.findall(kind):
            if inner in models.modules and inner not in above:
                found |= shape(models, inner, f"{path}{name}.", (*above, inner))
    return found


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    yield from (f"new: `{path}` ({new[path]})" for path in new if path not in old)
    yield from (f"gone: `{path}`" for path in old if path not in new)
    for path in old:
        if path in new and old[path] != new[path]:
            yield f"retyped: `{path}` from {old[path]} to {new[path]}"


def meaning(topic: str, newer: Sdk) -> str:
    """Says what an event of the newer shape becomes."""
    made = element(sdk.event(topic, 1, newer))
    if "note" in made:
        return f"its key has fallen back ({made['note']}): change the family"
    if made["policy"]["order"] == "changes" or made["policy"]["windowMs"]:
        return "its key is made of the whole body: a new field enters it by itself"
    return "its key is made of declared fields: a new one that tells events apart must be declared"


def added(pinned: Sdk, newer: Sdk) -> list[str]:
    """Finds new models that no other model refers to: they may be the bodies of new topics."""
    inner = {
        name
        for model in newer.modules
        for kind in newer.fields(model).values()
        for name in _INNER.findall(kind)
    }
    new = set(newer.modules) - set(pinned.modules) - inner
    return sorted(filter(_TOPIC.search, new))


def report(pinned: Sdk, newer: Sdk) -> str:
    parts = []
    for topic, model in sorted(MODELS.items()):
        if model not in newer.modules:
            parts.append(f"## {topic}\n\nThe SDK has no model `{model}` any more.\n")
        elif found := list(differences(shape(pinned, model), shape(newer, model))):
            lines = "\n".join(f"- {one}" for one in found)
            parts.append(f"## {topic}\n\n{meaning(topic, newer)}\n\n{lines}\n")
    if models := added(pinned, newer):
        lines = "\n".join(f"- `{model}`" for model in models)
        parts.append(f"## New models, perhaps of new topics\n\n{lines}\n")
    return "\n".join(parts)


def main() -> int:
    newer = Sdk(Path(sys.argv[1]) / "PureCloudPlatformClientV2")
    REPORT.unlink(missing_ok=True)
    if found := report(sdk.installed(), newer):
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(found, "utf-8")
    print(found or "No topic has changed.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
