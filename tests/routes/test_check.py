"""`once routes check` names each wrong line, and each line that no event known here fits."""

from pathlib import Path

import pytest

from once.routes import fields
from once.routes.check import Finding, check
from tests.commands.conftest import once

VALID = """# conversation.acd.strat is a mistake
[[routes]]
family = "conversation.acd.start"
action = "custom_-_a"
[[routes]]
family = "*"
action = "none"
"""
CALLS = """[[routes]]
family = "user.conversations"
{}
action = "send"
[[routes]]
family = "*"
action = "none"
"""


def lines(findings: list[Finding], is_error: bool) -> list[int]:
    assert all(finding.is_error is is_error and finding.text for finding in findings)
    return [finding.line for finding in findings]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", [1]),
        ('[[route]]\nfamily = "*"\n', [1]),
        ('\n[routes]\nfamily = "*"\n', [2]),
        (VALID.replace("[[routes]]", "[[routes]", 1), [2]),
        (VALID.replace('start"', "start"), [3]),
        ("\ufeff" + VALID, [1]),
        (VALID.rpartition("[[routes]]")[0], [2]),
        (VALID + 'inputs = {x = "subjekt.id"}\n', [8]),
        (VALID.replace("action", "facts = []\nmax_age = 5\naction", 1), [4, 5]),
        (VALID.replace("[[routes]]", '[[routes]]\nfamily = "conversation.*"\naction = "x"\n'
                       "[[routes]]", 1), [5]),
        (VALID.replace("[[routes]]", '[[routes]]\nfamily = "conversation.*"\naction = "x"\n'
                       'when.state = ["a", "b"]\n[[routes]]\nwhen.state = ["a"]', 1), [6]),
        (VALID.replace('"*"', '"conversation.acd.end"\nname = "conversation.acd.start"')
         + VALID.partition('"custom_-_a"\n')[2], [5]),
        (VALID.replace('"conversation.acd.start"', '"analytics.queue.observations"\n'
                       'order = "every"'), [4]),
    ],
    ids=["empty", "route", "single", "half", "syntax", "mark", "last", "input", "forms", "hidden",
         "hidden by values", "named twice", "windowed"],
)  # fmt: skip
def test_wrong_line_is_found(text: str, found: list[int]) -> None:
    assert lines(check(text), is_error=True) == found


START = 'family = "conversation.acd.start"'


@pytest.mark.parametrize(
    ("old", "new", "line", "found"),
    [
        (START, f'{START}\nwhen.body.mediatype = ["VOICE"]', 4, 'did you mean "mediaType"?'),
        (START, f'{START}\nwhen.body.mediaType = ["voice"]', 4, "VOICE"),
        (START, f'{START}\nwhen.ids.queueID = ["x"]', 4, 'did you mean "ids.queueId"?'),
        (START, f"{START}\nwhen.body.nonsense = [{{ exists = false }}]", 4, "body.nonsense"),
        (START, f'{START}\ninputs = {{ q = "ids.queueId" }}', 4, "idempotencyKey"),
        (START, f'{START}\ninputs = {{ k = "idempotencyKey", c = "ids.conversationID" }}', 4,
         '"ids.conversationId"?'),
        (START, f'{START}\nfacts = ["mediaType"]', 4, "no order"),
        (START, f'{START}\norder = "every"', 4, "no order"),
        (START, 'family = "analytics.*"\norder = "every"', 4, "aggregates"),
        (START, 'family = "conversation.acd.strat"', 3, "conversation.acd.start"),
        (START, 'family = "conversations.acd.*"', 3, "conversations.acd.*"),
        ('action = "custom_-_a"', 'action = "sent"', 4, "send"),
    ],
)  # fmt: skip
def test_line_that_no_event_fits_is_doubtful(old: str, new: str, line: int, found: str) -> None:
    findings = check(VALID.replace(old, new, 1))
    assert lines(findings, is_error=False)[0] == line
    assert found in findings[0].text


@pytest.mark.parametrize(
    ("part", "is_doubtful"),
    [
        ('when.body.mediaType = ["VOICE", { anything-but = "CHAT" }]', False),
        ('when.body.queueId = [{ prefix = "0a" }, { exists = false }]', False),
        ('when.metadata.action = ["Associated"]', False),
        ('when.body.participants.calls.state = ["connected"]', False),
        ('when.body.participants.calls.status = ["connected"]', True),
        ('facts = ["participants.*.calls.*.state"]', False),
        ('facts = ["participants.*.*.*.state", "**.held", "metadata.action"]', False),
        ('facts = ["participants.*.calls.*.stat"]', True),
        ('facts = ["**.hold"]', True),
        ('order = "every"', False),
    ],
)
def test_condition_or_fact_of_a_snapshot_is_known(part: str, is_doubtful: bool) -> None:
    conversation = part.startswith("when") and "participants" not in part
    of_step = VALID.replace(START, f"{START}\n{part}")
    findings = check(of_step if conversation else CALLS.format(part))
    assert bool(findings) is is_doubtful
    assert lines(findings, is_error=False) == [3] * is_doubtful


def test_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(f"{VALID}# für".encode("latin-1"))
    for command in (("check", str(file)), ("try", str(file), "--routes", str(file))):
        answer = once("routes", *command)
        assert (answer.code, "mine.toml:8" in answer.err) == (1, True)


def test_exit_code_tells_errors_from_doubts(tmp_path: Path) -> None:
    assert once("routes", "check").code == 0
    file = tmp_path / "mine.toml"
    for text, code in ((VALID, 0), (VALID.replace("acd", "cda", 2), 3), (VALID + "x = 1", 1)):
        file.write_text(text)
        answer = once("routes", "check", str(file))
        assert answer.code == code
        assert (f"{file}:3:" in answer.out) is (code == 3)


def test_a_path_reaches_a_field_through_lists_and_objects() -> None:
    shape: fields.Shape = {"a": {"b": {"c": "text"}}, "x": "any", "z": {"*": "any"}}
    known = ("a.*.b.c", "a.*.c", "**.c", "x.y.z", "z.d.e", "z.*")
    for path in (*known, "a.c", "a.b.c.d", "**.d", "*.d"):
        is_known = path in known
        assert fields.reaches(shape, path.split(".")) is is_known, path
