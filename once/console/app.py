"""The pages, their JSON, the stream of what changes, and the acts."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

from botocore.exceptions import BotoCoreError, ClientError
from jinja2 import Environment, PackageLoader, StrictUndefined
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from once.console import dead_ends, documents, drawing, event_page, sandbox
from once.console.acts import PageOperation, Question, ask
from once.console.feed import Feed
from once.console.guard import Guard
from once.console.rows import SHOWN, SIGNS, Filter, Place, Row, row, summed
from once.errors import OnceError
from once.operate import destination, explain, log
from once.operate import phrases as words
from once.operate.refusals import plain
from once.operate.stack import Stack
from once.operate.status import Status
from once.outcomes import MEANING, Outcome
from once.screen import showable

_FOLDER = Path(__file__).parent
_TICK_SECONDS = 0.1
_BEAT_SECONDS = 15
_AT_ONCE = 100  # rows in a message: what a browser draws well within a tenth of a second
_RECEIVED = 50

Given = Mapping[str, str]


@dataclass
class Console:
    """What the routes share."""

    stack: Stack
    feed: Feed
    write: bool
    app: Any = None


def make(stack: Stack, port: int, token: str, write: bool) -> Console:
    made = Console(stack, Feed(stack), write)
    pages = _Pages(made)
    routes = [
        *pages.routes("/", "now", pages.now),
        *pages.routes("/event", "event", pages.event),
        *pages.routes("/explain", "explain", pages.explain),
        *pages.routes("/dead-ends", "dead_ends", pages.dead_ends),
        *pages.routes("/dead-ends/content", "content", pages.content),
        Route("/stream", pages.stream),
        Route("/act/{name}", pages.act, methods=["POST"]),
        Route("/docs/{name}.md", pages.document),
        Mount("/docs", StaticFiles(directory=documents.FOLDER)),
        Mount("/static", StaticFiles(directory=_FOLDER / "static")),
    ]
    if stack.embedded:
        routes += [
            *pages.routes("/sandbox", "sandbox", pages.sandbox),
            Route("/sandbox/received", pages.received),
            Route("/sandbox/{act}", pages.try_out, methods=["POST"]),
        ]
    made.app = Starlette(
        routes=routes,
        middleware=[Middleware(Guard, port=port, token=token)],
        exception_handlers=dict.fromkeys((OnceError, BotoCoreError, ClientError), pages.failed),
    )
    return made


class _Pages:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._stack = console.stack
        self._feed = console.feed
        self._environment = Environment(
            loader=PackageLoader("once.console"),
            autoescape=True,
            undefined=StrictUndefined,
            auto_reload=False,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            stack=str(self._stack),
            embedded=self._stack.embedded,
            write=console.write,
            meaning=MEANING,
            outcomes=list(Outcome),
            signs=SIGNS,
            because=_because,
            reason=words.reason,
            times=words.times,
            events=words.events,
            now_ms=log.now_ms,
        )
        self._environment.filters.update(
            clock=lambda at_ms: words.clock(at_ms)[:8],
            day=_day,
            short=words.short,
            moment=words.moment,
            pretty=lambda value: showable_json(value),
            safe_text=showable,
            as_json=json.dumps,
            iso=lambda at_ms: datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(),
        )

    def routes(
        self, path: str, name: str, answer: Callable[[Given], dict[str, Any]]
    ) -> list[Route]:
        """A page, and the same as JSON."""

        def page(request: Request) -> Response:
            found = answer(request.query_params)
            query = urlencode(request.query_params)
            found["json_path"] = f"{json_path}?{query}" if query else json_path
            return HTMLResponse(self._render(f"{name}.html.j2", **found))

        def as_json(request: Request) -> Response:
            said = answer(request.query_params)["json"]
            return JSONResponse({"stack": str(self._stack), **said})

        json_path = "/now.json" if path == "/" else f"{path}.json"
        return [Route(path, page), Route(json_path, as_json)]

    def now(self, given: Given) -> dict[str, Any]:
        self._feed.refresh()
        wanted = Filter.of(given)
        after = _place(given.get("before", ""))
        page = self._feed.older(after, wanted) if after else None
        rows = page.rows if page else self._feed.rows(wanted)
        now_ms = log.now_ms()
        last = page.next if page else rows[-1].place if rows else (-now_ms, "")
        reasons, families = self._feed.choices()
        return {
            "rows": rows,
            "wanted": wanted,
            "reasons": reasons,
            "families": families,
            "page": page,
            "before": f"{-last[0]}-{last[1]}",
            "stream": "" if page else "/stream?" + urlencode(wanted.chosen),
            "strip": self._strip(),
            "json": {
                "status": _dumped(self._feed.status) if self._feed.status else None,
                "rows": [_dumped(one) for one in rows],
                "before": f"{-last[0]}-{last[1]}",
            },
        }

    def event(self, given: Given) -> dict[str, Any]:
        chosen = given.get("delivery", "")
        page = event_page.of(
            self._stack,
            given.get("of", ""),
            given.get("message", ""),
            int(chosen) if chosen.isdecimal() else -1,
        )
        return {
            "page": page,
            "of": given.get("of", ""),
            "row": row(page.event),
            "picture": drawing.lit(page.way) if page.way else "",
            "comments": drawing.comments(),
            "json": _dumped(page),
        }

    def explain(self, given: Given) -> dict[str, Any]:
        name = given.get("id", "").strip()
        days = given.get("days", "")
        found = (
            explain.of(self._stack, name, int(days) if days.isdecimal() else 14) if name else None
        )
        subjects = [
            (one, summed(one.events), [row(event) for event in reversed(one.events[-SHOWN:])])
            for one in (found.subjects if found else [])
        ]
        near: list[Row] = []
        if found and not subjects:
            self._feed.refresh()
            near = self._feed.near(name)
        said = _dumped(found) | {"rows": [_dumped(one) for one in near]} if found else {}
        return {"name": name, "found": found, "subjects": subjects, "rows": near, "json": said}

    def dead_ends(self, _: Given) -> dict[str, Any]:
        found = dead_ends.read(self._stack)
        return {
            "kinds": [
                ("parked", dead_ends.grouped(found.parked)),
                ("dead", dead_ends.grouped(found.dead)),
            ],
            "json": {
                "parked": _dumped(found.parked, {"parked": {"__all__": {"element"}}}),
                "deadLetters": _dumped(found.dead),
            },
        }

    def content(self, given: Given) -> dict[str, Any]:
        found = dead_ends.content(self._stack, given.get("id", ""))
        return {"found": found, "json": _dumped(found)}

    def document(self, request: Request) -> Response:
        title, text = documents.page(request.path_params["name"])
        return HTMLResponse(self._render("document.html.j2", title=title, text=text, json_path=""))

    def sandbox(self, given: Given) -> dict[str, Any]:
        known = sandbox.examples()
        name = given.get("example", "")
        text = sandbox.pretty(known[name]) if name in known else given.get("text", "")
        said = self._destination()
        return said | {
            "examples": list(known),
            "name": name,
            "text": text,
            "looked": sandbox.look(self._stack, text) if text.strip() else None,
            "sent": given.get("sent", "").split(),
            "json": {
                "destination": said["state"],
                "received": [_dumped(call) for call in said["calls"]],
            },
        }

    def received(self, _: Request) -> Response:
        return HTMLResponse(self._render("_received.html.j2", **self._destination()))

    def _destination(self) -> dict[str, Any]:
        """How it behaves now, whoever made it so, and what it received."""
        received: Any = ask(self._stack, destination.received).answered
        now: Any = ask(self._stack, destination.destination).answered
        calls = received.calls[-_RECEIVED:][::-1]
        return {"calls": calls, "state": now.destination, "states": sandbox.STATES}

    async def try_out(self, request: Request) -> Response:
        form = await _form(request)
        return await run_in_threadpool(self._tried, request.path_params["act"], form)

    def _tried(self, act: str, form: dict[str, list[str]]) -> Response:
        text = form.get("text", [""])[0].replace("\r\n", "\n")
        if act == "look":
            looked = sandbox.look(self._stack, text) if text.strip() else None
            return HTMLResponse(self._render("_looked.html.j2", looked=looked))
        if act == "destination":
            state = form.get("state", [""])[0]
            ask(self._stack, destination.destination, state=state)
            return RedirectResponse("/sandbox", 303)
        if act != "send":
            raise OnceError(f"There is nothing to try that is called {act}.")
        time, shift = form.get("time", [""])[0], {"earlier": -60_000}
        if time == "now":
            text = sandbox.to_now(text, log.now_ms())
        text = sandbox.shifted(text, shift[time]) if time in shift else text
        ids = sandbox.send(
            self._stack,
            text,
            _number(form, "copies", 1),
            _number(form, "late", 0),
            republished=form.get("kind", [""])[0] == "republished",
        )
        return RedirectResponse("/sandbox?" + urlencode({"sent": " ".join(ids)}), 303)

    async def act(self, request: Request) -> Response:
        if not self._console.write:
            raise OnceError(
                "This console only looks. To act on a deployed stack: once console --write"
            )
        form = await _form(request)
        return await run_in_threadpool(self._acted, request.path_params["name"], form)

    def _acted(self, name: str, form: dict[str, list[str]]) -> Response:
        fields = {key: values[0] for key, values in form.items()}
        ids, back = form.get("ids", []), fields.get("back", "/")
        back = back if back.startswith(("/event?", "/dead-ends")) else "/"
        try:
            done: PageOperation = dead_ends.act(self._stack, name, fields, ids, "yes" in form)
        except Question as question:
            asked = {"asked": question, "name": name, "form": form, "back": back, "json_path": ""}
            return HTMLResponse(self._render("question.html.j2", **asked))
        if name == "forget":
            self._feed.doubt("/".join(fields["key"].split("/")[:3]))
        said = {"said": done.said, "back": back, "json_path": ""}
        return HTMLResponse(self._render("done.html.j2", **said))

    async def stream(self, request: Request) -> Response:
        wanted = Filter.of(request.query_params)
        return StreamingResponse(self._changes(wanted), media_type="text/event-stream")

    async def _changes(self, wanted: Filter) -> AsyncIterator[str]:
        """All rows, since nobody knows what the page has; then rows and strip as they change."""
        seen: dict[str, Row] = {}
        yield _message("only", [one.id for one in self._feed.rows(wanted)])
        version, beat = -1, 0.0
        said: tuple[Status | None, str] = (None, "")
        with self._feed.listening():
            while not self._feed.closed:
                beat += _TICK_SECONDS
                if self._feed.version != version:
                    version = self._feed.version
                    rows = self._feed.rows(wanted)
                    for message in self._differences(rows, seen):
                        yield message
                        await asyncio.sleep(0)
                    seen = {one.id: one for one in rows}
                if (shown := (self._feed.status, self._feed.trouble)) != said:
                    said = shown
                    yield _message("strip", self._strip())
                if beat > _BEAT_SECONDS:
                    beat = 0.0
                    yield ": still here\n\n"
                await asyncio.sleep(_TICK_SECONDS)

    def _differences(self, rows: list[Row], seen: dict[str, Row]) -> list[str]:
        """Oldest first, since each is put on top."""
        changed = [one for one in reversed(rows) if seen.get(one.id) != one]
        messages = []
        for start in range(0, len(changed), _AT_ONCE):
            parts = []
            for one in changed[start : start + _AT_ONCE]:
                before = seen.get(one.id)
                on_top = before is None or before.at_ms < one.at_ms
                parts.append([one.id, self._render("_row.html.j2", row=one), on_top])
            messages.append(_message("rows", parts))
        here = {one.id for one in rows}
        gone = [name for name in seen if name not in here]
        return [*messages, _message("gone", gone)] if gone else messages

    def failed(self, request: Request, error: Exception) -> Response:
        if isinstance(error, BotoCoreError | ClientError):
            error = plain(error, self._stack.embedded)
        if request.url.path.endswith(".json"):
            return JSONResponse({"error": str(error)}, 400)
        return HTMLResponse(self._render("failed.html.j2", error=str(error), json_path=""), 400)

    def _strip(self) -> str:
        found = self._feed.status
        return self._render("_strip.html.j2", status=found, trouble=self._feed.trouble)

    def _render(self, template: str, /, **values: Any) -> str:
        return self._environment.get_template(template).render(**values)


def showable_json(value: Any) -> str:
    """Foreign text as a person may read it: nothing in it steers or hides."""
    if isinstance(value, str):
        value = sandbox.pretty(value)
        return "\n".join(showable(line) for line in value.split("\n"))
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return "\n".join(showable(line) for line in text.split("\n"))


def _dumped(model: BaseModel, exclude: Any = None) -> dict[str, Any]:
    """With the names that the commands' --json has."""
    return model.model_dump(mode="json", by_alias=True, exclude=exclude)


def _because(code: str | None, detail: str | None) -> str:
    """The reason in words and its detail, which may say the same once more."""
    said, more = words.reason(code), detail or ""
    words_of_it = said.partition(" ")[2].lower()
    if words_of_it and words_of_it in more.lower():
        return more
    return f"{said}: {more}" if more else said


def _day(at_ms: int) -> str:
    """The date, where it is not today's."""
    day = words.moment(at_ms)[:10]
    return "" if day == words.moment(log.now_ms())[:10] else day


def _place(before: str) -> Place | None:
    """Of the last row of the page before: its time, and its id where the page had one."""
    at_ms, _, name = before.partition("-")
    return (-int(at_ms), name) if at_ms.isdecimal() else None


def _message(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


async def _form(request: Request) -> dict[str, list[str]]:
    body = (await request.body()).decode()
    return parse_qs(body, keep_blank_values=True, max_num_fields=20_000)


def _number(form: dict[str, list[str]], name: str, otherwise: int) -> int:
    given = form.get(name, [""])[0]
    return int(given) if given.isdecimal() and len(given) < 10 else otherwise
