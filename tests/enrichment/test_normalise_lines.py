"""The lines that show the element of each event of a file."""

import json

from hypothesis import given
from hypothesis import strategies as st
from once_enrichment.elements import Element
from pydantic import TypeAdapter

from once.normalise import normalise_all
from tests.enrichment.examples import conversation
from tests.enrichment.sending import record


@given(st.lists(st.text(), max_size=5))
def test_every_record_gives_an_element_on_one_line(bodies: list[str]) -> None:
    records = [{"messageId": "-", "body": body, "attributes": {}} for body in bodies]
    answer = list(normalise_all(records))
    assert len(answer) == len(bodies)
    for line in answer:
        assert "\n" not in line
        TypeAdapter(Element).validate_python(json.loads(line))


def test_what_would_steer_the_terminal_is_written_as_json_does() -> None:
    hostile = conversation("user.start", note="\x1b[2J\x9b\u202e\x7f")
    text = json.dumps(hostile, ensure_ascii=False)
    (line,) = normalise_all([{"messageId": "-", "body": text, "attributes": {}}])
    assert line.isprintable()
    assert json.loads(line)["body"]["note"] == "\x1b[2J\x9b\u202e\x7f"


def test_note_says_what_genesys_sent_otherwise() -> None:
    (line,) = normalise_all([record(conversation("user.start", sessionId=None))])
    assert json.loads(line)["note"] == "missing sessionId: the whole body is the identity"
