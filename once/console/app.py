"""The pages, their JSON, the fragments that they poll, and the acts."""

import hashlib
import json
import shlex
from collections.abc import Callable, Mapping
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
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from once.console import dead_ends, documents, drawing, event_page, sandbox
from once.console.acts import PageOperation, Question, ask
from once.console.feed import Feed
from once.console.guard import Guard
from once.console.rows import SHOWN, SIGNS, Filter, Row, make_row
from once.errors import OnceError
from once.keys import Subject
from once.operate import destination, explain, log
from once.operate import phrases as words
from once.operate.refusals import plain
from once.operate.stack import Stack
from once.outcomes import MEANING, Outcome
from once.reasons import describe
from once.screen import showable

_FOLDER = Path(__file__).parent
_RECEIVED = 50
_DAYS = 14
_DAY_MS = 86_400_000

Given = Mapping[str, str]


def make(stack: Stack, port: int, token: str, write: bool) -> Starlette:
    pages = _Pages(stack, Feed(stack), write)
    routes = [
        *pages.routes("/", "now", pages.now),
        *pages.routes("/event", "event", pages.event),
        *pages.routes("/explain", "explain", pages.explain),
        *pages.routes("/parked", "dead_ends", pages.dead_ends),
        *pages.routes("/parked/content", "content", pages.content),
        Route("/rows", pages.rows),
        Route("/strip", pages.strip),
        Route("/act/{name}", pages.act, methods=["POST"]),
        Route("/docs/{name}.md", pages.document),
        Mount("/docs", StaticFiles(directory=documents.FOLDER)),
        Mount("/static", StaticFiles(directory=_FOLDER / "static")),
    ]
    if stack.is_local:
        routes += [
            *pages.routes("/sandbox", "sandbox", pages.sandbox),
            Route("/sandbox/received", pages.received),
            Route("/sandbox/{act}", pages.try_out, methods=["POST"]),
        ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, port=port, token=token)],
        exception_handlers=dict.fromkeys((OnceError, BotoCoreError, ClientError), pages.failed),
    )


class _Pages:
    def __init__(self, stack: Stack, feed: Feed, write: bool) -> None:
        self._stack = stack
        self._feed = feed
        self._write = write
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
            local=self._stack.is_local,
            write=write,
            meaning=MEANING,
            outcomes=list(Outcome),
            signs=SIGNS,
            most_rows=SHOWN,
            because=_because,
            reason=describe,
            requests=words.count_requests,
            events=words.count_events,
            now_ms=log.now_ms,
        )
        self._environment.filters.update(
            clock=lambda at_ms: words.format_clock(at_ms)[:8],
            day=_day,
            short=words.shorten_ids,
            moment=words.format_time,
            pretty=showable_json,
            safe_text=showable,
            link=_link,
            iso=lambda at_ms: datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(),
        )

    def routes(
        self, path: str, name: str, answer: Callable[[Given], dict[str, Any]]
    ) -> list[Route]:
        """Returns the routes of a page and of the same as JSON."""

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
        wanted, before = Filter.parse(given), given.get("before", "")
        before_ms = int(before) if before.isdecimal() else None
        self._feed.refresh_rows()
        if before_ms is None:
            self._feed.refresh_status()
            rows = self._feed.find_rows(wanted)
            end_ms = rows[-1].at_ms if rows else log.now_ms() - _DAY_MS
        else:
            rows, end_ms = self._feed.find_older(before_ms, wanted)
        reasons, families = self._feed.find_choices()
        return {
            "rows": rows,
            "wanted": wanted,
            "reasons": reasons,
            "families": families,
            "before_ms": before_ms,
            "end_ms": end_ms,
            "strip": self._strip(),
            "json": {
                "status": _dumped(self._feed.status) if self._feed.status else None,
                "asOfMs": self._feed.status_as_of_ms,
                "rows": [_dumped(one) for one in rows],
                "beforeMs": end_ms,
            },
        }

    def rows(self, request: Request) -> Response:
        """Returns the rows of the table; nothing if the page has them already."""
        self._feed.refresh_rows()
        wanted = Filter.parse(request.query_params)
        rows = self._feed.find_rows(wanted)
        text = "".join(self._render("_row.html.j2", row=one, happened=False) for one in rows)
        return self._fragment(request, text)

    def strip(self, request: Request) -> Response:
        """Returns the state of the stack; nothing if the page shows it already."""
        self._feed.refresh_status()
        return self._fragment(request, self._strip())

    def _fragment(self, request: Request, text: str) -> Response:
        version = hashlib.sha256(text.encode()).hexdigest()[:16]
        headers = {"X-Version": version}
        if self._feed.trouble:
            headers["X-Trouble"] = "yes"
        if request.query_params.get("version") == version:
            return Response(status_code=204, headers=headers)
        return HTMLResponse(text, headers=headers)

    def event(self, given: Given) -> dict[str, Any]:
        chosen = given.get("delivery", "")
        page = event_page.read_event(
            self._stack,
            given.get("of", ""),
            given.get("message", ""),
            int(chosen) if chosen.isdecimal() else -1,
        )
        return {
            "page": page,
            "of": given.get("of", ""),
            "row": make_row(page.event),
            "picture": drawing.lit(page.path) if page.path and page.path.steps else "",
            "comments": drawing.comments(),
            "json": _dumped(page),
        }

    def explain(self, given: Given) -> dict[str, Any]:
        name, days = given.get("id", "").strip(), given.get("days", "")
        since_ms = log.now_ms() - (int(days) if days.isdecimal() else _DAYS) * _DAY_MS
        found = explain.read_explanation(self._stack, name, since_ms) if name else None
        subjects = [
            (
                Subject.parse(one.pk) if one.pk else None,
                one.summary,
                [make_row(event) for event in reversed(one.events[-SHOWN:])],
            )
            for one in (found.subjects if found else [])
        ]
        near: list[Row] = []
        if found and not subjects:
            self._feed.refresh_rows()
            near = self._feed.find_rows(Filter(text=name))
        said = _dumped(found) | {"rows": [_dumped(one) for one in near]} if found else {}
        return {"name": name, "found": found, "subjects": subjects, "rows": near, "json": said}

    def dead_ends(self, _: Given) -> dict[str, Any]:
        found = dead_ends.read(self._stack)
        kinds = []
        for kind, listed in found.items():
            by_id = {one.message_id: one for one in listed.messages}
            groups = [(one, [by_id[name] for name in one.message_ids]) for one in listed.groups]
            kinds.append((kind, groups))
        return {
            "kinds": kinds,
            "json": {
                "parked": _dumped(found["parked"]),
                "deadLetters": _dumped(found["dead-letters"]),
            },
        }

    def content(self, given: Given) -> dict[str, Any]:
        found = dead_ends.read_content(self._stack, given.get("id", ""))
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
        """Reads how it behaves now, and what it received."""
        now: Any = ask(self._stack, destination.destination).answered
        calls = now.calls[-_RECEIVED:][::-1]
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
        if not self._write:
            raise OnceError(
                "This console is read-only. To act on a deployed stack: once console --write"
            )
        form = await _form(request)
        return await run_in_threadpool(self._acted, request.path_params["name"], form)

    def _acted(self, name: str, form: dict[str, list[str]]) -> Response:
        fields = {key: values[0] for key, values in form.items()}
        ids, back = form.get("ids", []), fields.get("back", "/")
        ids = fields["all"].split() if fields.get("all") else ids
        back = back if back.startswith(("/event?", "/parked")) else "/"
        try:
            done: PageOperation = dead_ends.act(self._stack, name, fields, ids, "yes" in form)
        except Question as question:
            asked = {"asked": question, "name": name, "form": form, "back": back, "json_path": ""}
            return HTMLResponse(self._render("question.html.j2", **asked))
        said = {"said": done.said, "back": back, "json_path": ""}
        return HTMLResponse(self._render("done.html.j2", **said))

    def failed(self, request: Request, error: Exception) -> Response:
        if isinstance(error, BotoCoreError | ClientError):
            error = plain(error, self._stack.is_local)
        if request.url.path.endswith(".json"):
            return JSONResponse({"error": str(error)}, 400)
        return HTMLResponse(self._render("failed.html.j2", error=str(error), json_path=""), 400)

    def _strip(self) -> str:
        feed = self._feed
        return self._render(
            "_strip.html.j2",
            status=feed.status,
            trouble=feed.trouble,
            as_of_ms=feed.status_as_of_ms,
            durations=feed.find_durations(),
        )

    def _render(self, template: str, /, **values: Any) -> str:
        return self._environment.get_template(template).render(**values)


def showable_json(value: Any) -> str:
    """Writes foreign text for a person to read: nothing in it steers or hides."""
    if isinstance(value, str):
        value = sandbox.pretty(value)
        return "\n".join(showable(line) for line in value.split("\n"))
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return "\n".join(showable(line) for line in text.split("\n"))


def _dumped(model: BaseModel) -> dict[str, Any]:
    """Returns it with the names that the commands' --json has."""
    return model.model_dump(mode="json", by_alias=True)


def _because(code: str | None, detail: str | None) -> str:
    """Joins the reason in words and its detail, unless the detail says the same again."""
    said, more = describe(code), detail or ""
    words_of_it = said.partition(" ")[2].lower()
    if words_of_it and words_of_it in more.lower():
        return more
    return f"{said}: {more}" if more else said


def _day(at_ms: int) -> str:
    """Returns the date if it is not today's."""
    day = words.format_time(at_ms)[:10]
    return "" if day == words.format_time(log.now_ms())[:10] else day


def _link(command: str) -> str:
    """Returns the page of a suggested command; empty if there is none."""
    typed = shlex.split(command)
    if typed[1] == "explain":
        return f"/explain?{urlencode({'id': typed[2]})}"
    return "/parked" if typed[1] in ("parked", "dead-letters") else ""


async def _form(request: Request) -> dict[str, list[str]]:
    body = (await request.body()).decode()
    return parse_qs(body, keep_blank_values=True, max_num_fields=20_000)


def _number(form: dict[str, list[str]], name: str, otherwise: int) -> int:
    given = form.get(name, [""])[0]
    return int(given) if given.isdecimal() and len(given) < 10 else otherwise
