"""The file that `once routes check` reads says what the pinned SDK says."""

from once.routes import fields
from tests.enrichment.topic_fields import FILE, document


def test_fields_are_those_of_the_pinned_sdk() -> None:
    assert FILE.read_text() == document(), "run: make fields"


def test_fields_are_found_in_lists_objects_and_attributes() -> None:
    shapes = fields.shapes()
    snapshot, attributes = shapes["user.conversations"], shapes["conversation.attributes"]
    assert fields.find_field(snapshot, ("participants", "calls", "held")) == "boolean"
    assert fields.find_field(attributes, ("attributes", "any name")) == "any"
    assert fields.find_field(shapes["conversation.acd.end"], ("acdOutcome",)) == [
        "UNKNOWN",
        "ABANDON",
        "ANSWERED",
        "FLOW_OUT",
    ]
    assert fields.find_field(snapshot, ("participants", "nothing")) is None
