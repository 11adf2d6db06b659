"""`once mapping check` names every line that is faulty, and every one that no event would meet."""

from pathlib import Path

import pytest

from tests.operate.conftest import once

VALID = """# conversation.acd.strat is a mistake
[actions]
"conversation.acd.start" = "a"
"*" = "none"
[inputs]
key = "idempotencyKey"
"""


def notes(tmp_path: Path, text: str, code: int = 0) -> str:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    answer = once("mapping", "check", str(file))
    assert answer.code == code
    return answer.out.replace(str(file), "mine.toml")


def test_the_faulty_line_is_named(tmp_path: Path) -> None:
    said = notes(tmp_path, f'{VALID}x = "subjekt.id"\n', code=1)
    assert 'mine.toml:7: an event has no "subjekt.id"' in said


def test_what_is_shipped_and_what_is_right_have_no_notes_of_names(tmp_path: Path) -> None:
    shipped = once("mapping", "check")
    assert (shipped.code, "known here" in shipped.out) == (0, False)
    assert notes(tmp_path, VALID) == "mine.toml: no line is faulty\n"


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("conversation.acd.strat", "conversation.acd.start"),
        ("user.presense", "user.presence"),
    ],
)
def test_a_family_that_does_not_exist_is_named_with_what_was_meant(
    tmp_path: Path, wrong: str, meant: str
) -> None:
    said = notes(tmp_path, VALID.replace("conversation.acd.start", wrong))
    assert f'mine.toml:3: note: no topic known here has the family "{wrong}"' in said
    assert f'did you mean "{meant}"?' in said


def test_a_group_of_families_that_does_not_exist_is_named(tmp_path: Path) -> None:
    said = notes(tmp_path, VALID.replace("conversation.acd.start", "conversations.acd.*"))
    assert 'has the family "conversations.acd.*"' in said


def test_families_that_no_line_matches_are_named(tmp_path: Path) -> None:
    said = notes(tmp_path, VALID.replace('"*"', '"conversation.*"'))
    assert "mine.toml:2: note: no line for" in said
    assert "user.presence" in said
    assert "conversation.acd.end" not in said


def test_an_id_that_no_event_has_is_named_with_what_was_meant(tmp_path: Path) -> None:
    said = notes(tmp_path, f'{VALID}c = "ids.conversationID"\nq = "ids.queueId"\n')
    assert 'mine.toml:7: note: no event known here has "ids.conversationID"' in said
    assert 'did you mean "ids.conversationId"?' in said
    assert "queueId" not in said
