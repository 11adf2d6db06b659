"""Events of one family each, for the tests on the shared stack."""

import uuid
from typing import Any

from proof.events import ORGANISATION, enveloped, iso

SOURCE = f"aws.partner/genesys.com/cloud/{ORGANISATION}/tests"
NOON_MS = 1_777_888_800_000


def new_id() -> str:
    return str(uuid.uuid4())


def presence(user: str, name: str, at_ms: int) -> dict[str, Any]:
    """Makes a presence of an agent, whose family has the order latest."""
    body = {
        "source": "PURECLOUD",
        "presenceDefinition": {"id": f"{name}-of-all", "systemPresence": name},
        "primary": True,
        "message": "",
        "modifiedDate": iso(at_ms),
    }
    return enveloped("v2.users.{id}.presence", user, body, at_ms + 90, SOURCE)
