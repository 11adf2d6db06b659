"""`once routes check` names every wrong line, and every line that no event would meet."""

from pathlib import Path

import pytest

from tests.operate.conftest import once

VALID = """# conversation.acd.strat is a mistake
[[routes]]
family = "conversation.acd.start"
action = "custom_-_a"
[[routes]]
family = "*"
action = "none"
"""


def check(tmp_path: Path, text: str, code: int = 0) -> str:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    answer = once("routes", "check", str(file))
    assert answer.code == code
    return answer.out.replace(str(file), "mine.toml")


def test_faulty_line_is_named(tmp_path: Path) -> None:
    said = check(tmp_path, f'{VALID}inputs = {{x = "subjekt.id"}}\n', code=1)
    assert 'mine.toml:8: an event has no "subjekt.id"' in said


def test_shipped_and_valid_files_have_no_notes(tmp_path: Path) -> None:
    shipped = once("routes", "check")
    assert (shipped.code, "note:" in shipped.out) == (0, False)
    assert check(tmp_path, VALID) == "mine.toml: no line is wrong\n"


@pytest.mark.parametrize(
    ("wrong", "meant"),
    [
        ("conversation.acd.strat", "conversation.acd.start"),
        ("user.presense", "user.presence"),
    ],
)
def test_family_that_does_not_exist_is_named_with_what_was_meant(
    tmp_path: Path, wrong: str, meant: str
) -> None:
    said = check(tmp_path, VALID.replace('"conversation.acd.start"', f'"{wrong}"'), code=3)
    assert f'mine.toml:3: note: no topic known here has the family "{wrong}"' in said
    assert f'did you mean "{meant}"?' in said


def test_group_of_families_that_does_not_exist_is_named(tmp_path: Path) -> None:
    said = check(
        tmp_path, VALID.replace('"conversation.acd.start"', '"conversations.acd.*"'), code=3
    )
    assert 'has the family "conversations.acd.*"' in said


def test_id_that_no_event_has_is_named_with_what_was_meant(tmp_path: Path) -> None:
    inputs = 'action = "custom_-_a"\ninputs.k = "idempotencyKey"\ninputs.c = "ids.conversationID"\n'
    said = check(tmp_path, VALID.replace('action = "custom_-_a"\n', inputs), code=3)
    assert 'mine.toml:6: note: no event known here has "ids.conversationID"' in said
    assert 'did you mean "ids.conversationId"?' in said


def test_inputs_without_the_key_are_doubted(tmp_path: Path) -> None:
    inputs = 'action = "custom_-_a"\ninputs = { q = "ids.queueId" }\n'
    said = check(tmp_path, VALID.replace('action = "custom_-_a"\n', inputs), code=3)
    assert 'mine.toml:5: note: no input takes "idempotencyKey"' in said


@pytest.mark.parametrize(
    ("when", "says"),
    [
        ('body.mediatype = ["VOICE"]', 'lists no "body.mediatype" in conversation.acd.start'),
        ('body.mediatype = ["VOICE"]', 'did you mean "mediaType"?'),
        (
            'body.mediaType = ["voice"]',
            "body.mediaType is never 'voice': it is one of UNKNOWN, VOICE",
        ),
        ('body.queueId = [{ numeric = [">", 3] }]', "body.queueId is never numeric: it is a text"),
        ('body.eventTime = [{ prefix = "2" }]', "body.eventTime is never prefix: it is a number"),
        ("body.direction = [true]", "body.direction is never True"),
        ('ids.queueID = ["x"]', 'did you mean "ids.queueId"?'),
        ('state = ["start"]', "state is never 'start': it is acd.start"),
        ('family = ["user.presence"]', "family is never 'user.presence'"),
        ('subject.type = ["user"]', "subject.type is never 'user': it is conversation"),
        ("body.nonsense = [{ exists = false }]", "this may always hold"),
    ],
)
def test_condition_that_can_never_hold_is_doubted(tmp_path: Path, when: str, says: str) -> None:
    text = VALID.replace('start"\naction', f'start"\nwhen.{when}\naction')
    said = check(tmp_path, text, code=3)
    assert "mine.toml:4: note: " in said
    assert says in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", 'mine.toml:1: no [[routes]]: add one for family = "*"'),
        ("# nothing yet\n", 'no [[routes]]: add one for family = "*"'),
        ('[[route]]\nfamily = "*"\n', "mine.toml:1: [[route]] begins no route: write [[routes]]"),
        ('\n[routes]\nfamily = "*"\n', "mine.toml:2: [routes] begins no route: write [[routes]]"),
        (VALID.replace("[[routes]]", "[[routes]", 1), "mine.toml:2: [[routes] begins no route"),
        ('family = "*"\n', 'mine.toml:1: "family" is in no route: each begins with [[routes]]'),
        (VALID.replace('start"', "start"), """in: family = "conversation.acd.start"""),
        ("\ufeff" + VALID, "mine.toml:1: a byte order mark"),
        (
            VALID.replace('"none"\n', '"none"\n[[routes]]\nfamily = "user.*"\naction = "x"\n'),
            ":8: ",
        ),
        (VALID.rpartition("[[routes]]")[0], 'mine.toml:2: the last route wants family = "*"'),
        (
            VALID.replace("action", "when.state = [{ prefixx = 'a' }]\naction", 1),
            'mine.toml:4: there is no operator "prefixx"; there are prefix',
        ),
    ],
)
def test_file_that_is_no_list_of_routes_is_refused_with_its_line(
    tmp_path: Path, text: str, says: str
) -> None:
    assert says in check(tmp_path, text, code=1)


def test_file_that_is_not_utf_8_is_refused_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(f"{VALID}# für".encode("latin-1"))
    for command in (("check", str(file)), ("try", str(file), "--routes", str(file))):
        answer = once("routes", *command)
        assert (answer.code, "mine.toml, line 8: not UTF-8" in answer.err) == (1, True)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ('action = "sent"', 'mine.toml:4: note: no Genesys data action has the id "sent"'),
        ('action = "sent"', 'did you mean "send"?'),
        (
            'action = "send"\ninputs.k = "idempotencyKey"',
            'mine.toml:5: note: the action "send" has',
        ),
    ],
)
def test_action_that_cannot_be_meant_is_doubted(tmp_path: Path, lines: str, says: str) -> None:
    assert says in check(tmp_path, VALID.replace('action = "custom_-_a"', lines), code=3)


@pytest.mark.parametrize(
    "when",
    [
        'body.mediaType = ["VOICE", { anything-but = "CHAT" }]',
        'body.queueId = [{ prefix = "0a" }, { exists = false }]',
        'body.eventTime = [{ numeric = [">", 3] }]',
        'state = ["acd.start"]',
        'subject.type = ["conversation"]',
        'metadata.action = ["Associated"]',
    ],
)
def test_condition_that_may_hold_has_no_note(tmp_path: Path, when: str) -> None:
    check(tmp_path, VALID.replace('start"\naction', f'start"\nwhen.{when}\naction'))


def test_field_of_one_family_of_a_group_is_known(tmp_path: Path) -> None:
    group = VALID.replace('"conversation.acd.start"', '"conversation.*"')
    check(
        tmp_path,
        group.replace('*"\naction = "c', '*"\nwhen.body.wrapupCode = ["x"]\naction = "c'),
    )


def test_field_inside_a_list_is_known(tmp_path: Path) -> None:
    text = VALID.replace(
        '"conversation.acd.start"\n',
        '"user.conversations"\nwhen.body.participants.calls.state = ["connected"]\n',
    )
    check(tmp_path, text)
    said = check(tmp_path, text.replace("calls.state", "calls.status"), code=3)
    assert 'lists no "body.participants.calls.status"' in said
