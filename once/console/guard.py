"""Refuses every request but those of our own page, in the browser that got the token."""

import secrets
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STRANGER = "Open this with the address that `once console` printed: it holds this start's token.\n"


class Guard:
    """Each console has a token and a port of its own; a cookie carries the token after the start.

    A name that leads to 127.0.0.1 fails at Host, a page of another origin at Origin, and another
    user of this machine at the token. A link from elsewhere, as from a ticket, may be followed.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._token = token
        self._cookie = f"once_console_{port}"
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refusal = self._refuse(Request(scope)) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send_with_headers)

    def _refuse(self, request: Request) -> Response | None:
        headers = request.headers
        host = headers.get("host", "")
        if host not in self._hosts:
            return PlainTextResponse("This console answers on 127.0.0.1 alone.\n", 421)
        if headers.get("origin", f"http://{host}") != f"http://{host}":
            return PlainTextResponse("Only the console's own page may ask.\n", 403)
        # An image of a page on another port has our cookie and no Origin: cookies know no ports.
        is_foreign = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if is_foreign and headers.get("sec-fetch-mode") != "navigate":
            return PlainTextResponse("Only the console's own page may ask.\n", 403)
        given = request.query_params.get("token")
        if given is not None and self._is_ours(given):
            # The same page without the token, which stays out of the history that way.
            welcome = RedirectResponse(str(request.url.remove_query_params("token")), 303)
            welcome.set_cookie(self._cookie, self._token, httponly=True, samesite="lax")
            return welcome
        if not self._is_ours(self._read_token(headers)):
            return PlainTextResponse(_STRANGER, 401)
        return None

    def _read_token(self, headers: Headers) -> str:
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return cookie.value if cookie else ""

    def _is_ours(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self._token.encode())
