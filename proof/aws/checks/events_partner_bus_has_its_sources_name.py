"""A bus for a partner's events bears the name of the partner event source, and no other bus begins
with aws.partner.

With another name the bus is refused when it is created.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "eventbridge/latest/APIReference/API_CreateEventBus.html",
        "A partner event bus must have the name of its partner event source.",
    ),
    page(
        "eventbridge/latest/userguide/eb-saas.html",
        "To receive a partner's events the event source is associated with a bus.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    for name, bus in deployed.of_type("AWS::Events::EventBus").items():
        source = bus.get("EventSourceName")
        if source is not None and bus["Name"] != source:
            yield f"{name} is called {bus['Name']}, and its source {source}"
        if source is None and str(bus["Name"]).startswith("aws.partner"):
            yield f"{name} is called {bus['Name']} and names no source"


def _a_name_of_its_own(deployed: Deployed) -> None:
    deployed.properties("PartnerBus")["Name"] = "contact-centre"


def _no_source(deployed: Deployed) -> None:
    del deployed.properties("PartnerBus")["EventSourceName"]


BROKEN = {"a name of its own": _a_name_of_its_own, "no source": _no_source}
