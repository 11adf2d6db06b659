"""The pages of the console. They read the stack and act on nothing: what acts is a command, which a
page shows to be pasted."""

import hashlib
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from once.console.feed import SHOWN, Feed
from once.console.guard import Guard
from once.errors import OnceError
from once.model import words
from once.model.reasons import MEANING, Outcome, describe
from once.model.story import Story
from once.project import ROOT
from once.screen import showable
from once.stack.facade import Stack, explain_refusal, read_clock_ms
from once.stack.log import read_path
from once.stack.stories import Result, find

_FOLDER = Path(__file__).parent
_BACK_MS = 14 * 86_400_000
_OTHERS = 4
_PICTURE = ROOT / "docs" / "statemachine.svg"
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def make(stack: Stack, port: int, token: str, options: str = "") -> Starlette:
    """Makes the console; `options` name the stack in the commands that it shows."""
    pages = _Pages(stack, options)
    return Starlette(
        routes=[
            Route("/", pages.show_now),
            Route("/event", pages.show_event),
            Route("/search", pages.search),
            Mount("/static", StaticFiles(directory=_FOLDER / "static")),
        ],
        middleware=[Middleware(Guard, port=port, token=token)],
        exception_handlers=dict.fromkeys((OnceError, BotoCoreError, ClientError), pages.fail),
    )


class _Pages:
    def __init__(self, stack: Stack, options: str) -> None:
        self._stack, self._options, self._feed = stack, options, Feed(stack)
        self._templates = Environment(
            loader=PackageLoader("once.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._templates.globals |= {
            "stack": str(stack),
            "options": options,
            "outcomes": MEANING,
            "describe": describe,
            "most": SHOWN,
            "now_ms": read_clock_ms,
            "count": words.count,
        }
        filters: dict[str, Callable[..., Any]] = {
            "clock": words.format_clock,
            "moment": words.format_time,
            "iso": lambda ms: datetime.fromtimestamp(ms / 1000, UTC).isoformat(),
            "short": lambda text: showable(words.shorten_ids(text)),
            "shown": showable,
            "copies": _count_copies,
        }
        self._templates.filters |= filters

    def show_now(self, request: Request) -> Response:
        """Shows the status and the newest events; to a page that polls with the version that it
        has, only what is live, and nothing if it is the same."""
        given = request.query_params
        text, outcome = given.get("text", "").strip(), given.get("outcome", "")
        values = {
            "stories": self._feed.read_stories(text, outcome),
            "status": self._feed.status,
            "status_ms": self._feed.status_ms,
            "trouble": self._feed.trouble,
            "text": text,
            "outcome": outcome,
        }
        if "version" not in given:
            return self._render("now", values)
        part = self._templates.get_template("_live.html.j2").render(values)
        version = hashlib.sha256(part.encode()).hexdigest()[:16]
        headers = {"X-Version": version}
        if given["version"] == version:
            return Response(status_code=204, headers=headers)
        return HTMLResponse(part, headers=headers)

    def show_event(self, request: Request) -> Response:
        name = request.query_params.get("of", "").strip()
        stories = [story for _, told in self._find(name).subjects for story in told]
        story = next((story for story in stories if name in story.names), None)
        if story is None:
            raise OnceError(f"Nothing is known of {name}. If it is new, look again in a moment.")
        met = {chain.end.met for chain in story.chains}
        others = [
            other
            for other in stories
            if other is not story and any(chain.id in met for chain in other.chains)
        ]
        # The chain that was asked for, else one that was no copy, in its last delivery.
        wanted = request.query_params.get("message")
        asked = [chain for chain in story.chains if chain.id == wanted]
        shown = next(iter([*asked, *story.own, *story.chains]), None)
        record = shown.records[-1] if shown else None
        steps = read_path(self._stack, record) if record and record.run else []
        values = {
            "story": story,
            "shown": shown,
            "record": record,
            "others": others[:_OTHERS],
            "steps": steps,
            "picture": _light([state for state, _ in steps]) if steps else "",
            "link": "" if self._stack.is_local else self._stack.outputs["StateMachineConsole"],
            "commands": list(self._suggest(story)),
        }
        return self._render("event", values)

    def search(self, request: Request) -> Response:
        name = request.query_params.get("id", "").strip()
        result = self._find(name)
        near = self._feed.read_stories(name) if name and not result.subjects else []
        return self._render("search", {"name": name, "result": result, "near": near})

    def _find(self, name: str) -> Result:
        since_ms = read_clock_ms() - _BACK_MS
        return find(self._stack, name, since_ms) if name else Result(name, since_ms)

    def fail(self, _: Request, error: Exception) -> Response:
        if isinstance(error, BotoCoreError | ClientError):
            error = explain_refusal(error, self._stack.is_local)
        return self._render("failed", {"error": str(error)}, 400)

    def _suggest(self, story: Story) -> Iterator[tuple[str, str]]:
        """Yields what an operator may want, with the command to paste."""
        key = shlex.quote(str(story.key or story.chains[0].id))
        yield "All that is known", f"once explain {key}{self._options}"
        is_dropped = story.claim is not None and story.claim.dropped_at_ms is not None
        if story.outcome is Outcome.PARKED and not is_dropped:
            yield "Try it again", f"once parked replay {key}{self._options}"
            yield "Give it up", f"once parked drop {key}{self._options}"
        elif story.key and story.outcome not in (None, Outcome.RETRY, Outcome.IGNORED):
            yield "Let a copy be acted on again", f"once forget {key}{self._options}"
        else:
            yield "What waits, and why", f"once status{self._options}"

    def _render(self, name: str, values: dict[str, Any], status: int = 200) -> Response:
        page = self._templates.get_template(f"{name}.html.j2").render(values)
        return HTMLResponse(page, status)


def _count_copies(story: Story) -> Iterable[tuple[str, int]]:
    """Counts the copies of an event by how they came about."""
    copies = [chain for chain in story.chains if chain not in story.own]
    return Counter(chain.text.partition("; ")[0] for chain in copies if chain.text).items()


@cache
def _read_drawing() -> str:
    """Reads the drawing without its style: the page's policy takes none from a drawing."""
    return _STYLE.sub("", _PICTURE.read_text("utf-8"))


def _light(states: Sequence[str]) -> str:
    """Returns the drawing with these states and the arrows between them lit. The ids in it are the
    names of the states."""
    picture = _read_drawing()
    path = ["Start", *states, "End"]
    for state in dict.fromkeys(path):
        picture = picture.replace(f'<g id="{state}" class="', f'<g id="{state}" class="lit ', 1)
    for start, end in dict.fromkeys(pairwise(path)):
        arrow = f'<g id="{start}&#45;{end}" class="'
        picture = picture.replace(arrow, f"{arrow}lit ", 1)
    label = f"The path it took: {', '.join(states)}."
    return picture.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
