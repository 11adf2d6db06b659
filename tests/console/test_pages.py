"""The pages as HTML: each event with its outcome and verdict, and the command to paste."""

import re
import stat
import webbrowser
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from botocore.exceptions import EndpointConnectionError
from click.testing import CliRunner

from once.cli import app
from once.console import command, feed
from once.console.feed import Feed
from once.stack.facade import Stack
from tests.console.conftest import ask
from tests.console.stacks import CALL, CALL_PK, HOSTILE, PATH, PagesStack, id_of, story_stack

KEY = f"{CALL_PK}/v2/conversation.customer.start/p/s/1"


def page(console: str, path: str) -> str:
    status, text, _ = ask(console, path)
    assert status == 200, text
    return unescape(text)


def rows(text: str) -> dict[str, str]:
    return dict(re.findall(r'<tr id="row-([^"]+)">(.*?)</tr>', text, re.DOTALL))


def test_now_shows_each_event_with_its_outcome(console: str) -> None:
    shown = rows(page(console, "/"))
    outcomes = ("PROCESSED", "STALE", "IGNORED", "PARKED", "RETRY", "PROCESSED", "PARKED")
    numbers = (1, 3, 4, 5, 6, 7, 8)
    assert {*shown} == {id_of(number) for number in numbers}
    for number, outcome in zip(numbers, outcomes, strict=True):
        assert f">{outcome}</span>" in shown[id_of(number)]
    assert 'data-label="messages">2<' in shown[id_of(1)]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("outcome=PARKED", [5, 8]),
        ("text=e-2", [1]),
        ("text=leaves&outcome=STALE", [3]),
        ("text=nothing+has+this", []),
    ],
)
def test_now_shows_what_a_filter_wants(console: str, query: str, numbers: list[int]) -> None:
    assert {*rows(page(console, f"/?{query}"))} == {id_of(number) for number in numbers}


def test_now_is_sent_again_only_if_it_changed(console: str) -> None:
    version = ask(console, "/?version=")[2]["X-Version"]
    assert ask(console, f"/?outcome=STALE&version={version}")[0] == 200
    stale = ask(console, "/?outcome=STALE&version=")[2]["X-Version"]
    assert ask(console, f"/?outcome=STALE&version={stale}")[0] == 204


def test_findings_come_with_commands_for_this_stack(console: str) -> None:
    text = page(console, "/")
    assert "<code>once parked list --stack once</code>" in text
    assert f"<code>once explain {CALL} --stack once</code>" in text


@pytest.mark.parametrize(
    ("number", "commands"),
    [
        (1, [f"once explain {KEY}", f"once forget {KEY}"]),
        (4, ["once explain", "once status"]),
        (5, ["once explain", "once parked replay", "once parked drop"]),
        (6, ["once explain", "once status"]),
    ],
)
def test_event_has_the_commands_that_suit_it(
    console: str, number: int, commands: list[str]
) -> None:
    shown = re.findall(r'data-copy="(once [^"]*)"', page(console, f"/event?of={id_of(number)}"))
    for text, start in zip(shown, commands, strict=True):
        assert text.startswith(start)
        assert text.endswith(" --stack once")


@pytest.mark.parametrize("name", [id_of(2), KEY])
def test_event_is_found_by_each_of_its_names(console: str, name: str) -> None:
    text = page(console, f"/event?of={name}")
    assert text.count('class="lane') == 2  # the event, its copy
    assert "DONE" in text


def test_event_lights_its_path_and_names_its_execution(console: str) -> None:
    text = page(console, f"/event?of={id_of(1)}")
    for state in PATH:
        assert re.search(rf'<g id="{state}" class="lit ', text), state
    assert '<g id="Parked" class="lit ' not in text
    assert "<code>execution-1</code>" in text
    other = page(console, f"/event?of={id_of(1)}&message={id_of(2)}")
    assert "<code>execution-1</code>" not in other


def test_search_shows_the_events_of_a_thing(console: str) -> None:
    shown = rows(page(console, f"/search?id={CALL}"))
    assert {*shown} == {id_of(number) for number in (1, 3, 4, 5, 6, 7)}
    assert rows(page(console, "/search?id=customer")) != {}  # words of the newest events
    assert rows(page(console, "/search?id=nothing-has-this")) == {}
    assert rows(page(console, "/search")) == {}


@pytest.mark.parametrize(
    "path",
    [
        "/",
        f"/event?of={id_of(8)}",
        f"/event?of={id_of(7)}",
        f"/search?id={CALL}",
        "/search?id=%3Cb%3E",
        "/event?of=%3Cb%3E",
    ],
)
def test_texts_of_others_are_escaped(console: str, path: str) -> None:
    _, text, _ = ask(console, path)
    assert "<img src=x" not in text
    assert "<b>" not in text.partition("<main")[2].partition("<ol")[0]
    assert HOSTILE[-1] not in text


def test_unknown_event_is_said(console: str) -> None:
    assert ask(console, "/event?of=nothing")[0] == 400
    assert ask(console, "/event")[0] == 400


def test_feed_keeps_what_it_read_when_the_stack_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    stack, clock = story_stack(), SimpleNamespace(seconds=0.0)
    one = Feed(stack, clock=lambda: clock.seconds)
    known = one.read_stories()

    def fail(*_: Any, **__: Any) -> Any:
        raise EndpointConnectionError(endpoint_url="http://127.0.0.1:1")

    monkeypatch.setattr(stack.logs, "get_paginator", fail)
    clock.seconds += 60
    assert [story.key for story in one.read_stories()] == [story.key for story in known]
    assert one.trouble != ""
    monkeypatch.undo()
    stack.add(9, "PROCESSED", 10)
    clock.seconds += 60
    assert len(one.read_stories()) == len(known) + 1
    assert one.trouble == ""


def test_feed_reads_for_all_pages_together() -> None:
    stack, clock = story_stack(), SimpleNamespace(seconds=0.0)
    one = Feed(stack, clock=lambda: clock.seconds)
    one.read_stories()
    stack.add(9, "PROCESSED", 10)
    before = len(one.read_stories())
    clock.seconds += 1
    assert len(one.read_stories("", "")) == before + 1


def test_feed_forgets_the_subjects_that_were_quiet_for_longest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feed, "_KEPT", 2)
    stack = PagesStack()
    for number in range(4):
        stack.add(number, "PROCESSED", 90_000 - number, pk=f"-/user/{number}")
    shown = [story.chains[0].id for story in Feed(stack).read_stories()]
    assert shown == [id_of(3), id_of(2)]


def test_command_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stack, "find", lambda *_: story_stack())
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    result = CliRunner(mix_stderr=False).invoke(app, ["console"])
    assert (result.exit_code, "setup" in result.stderr) == (1, True)


def test_browser_gets_the_token_by_a_private_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    with command.opened("http://127.0.0.1:1/?token=secret"):
        [address] = addresses
        assert "secret" not in address
        file = Path(url2pathname(urlsplit(address).path))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert "secret" in file.read_text()
    assert not file.exists()
