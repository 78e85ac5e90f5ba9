"""Who may open a page: the holder of a token, from this site alone, and nothing from elsewhere comes in."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harness.web.links import Query
from harness.web.pages import page

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SAFE: Final = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class Access:
    """Who may open what.

    `token`: opens all pages, as `?token=` once and then by a cookie of the name `cookie`; None: the routes
    check a token in their path themselves. `hosts`: names beside loopback by which the site is called.
    """

    token: str | None
    cookie: str = "harness"
    hosts: frozenset[str] = frozenset()


class Guard:
    """Middleware that lets a request through, or ends it."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refusal(HTTPConnection(scope))
        await (refused or self._app)(scope, receive, _closed(send))

    def _refusal(self, request: HTTPConnection) -> Response | None:
        host = request.headers.get("host", "")
        if _without_port(host) not in _LOOPBACK | self._access.hosts:
            return _no(421, "this site is not called by that name; open the address that was printed")
        if not _same_origin(request, host):
            return _no(403, "another site asked for this page")
        if self._access.token is None or request.scope["path"].startswith("/static/"):
            return None
        return self._by_token(request, self._access.token)

    def _by_token(self, request: HTTPConnection, token: str) -> Response | None:
        given = Query(request.scope["query_string"]).one("token")
        if given is not None and _equal(given, token):
            response = RedirectResponse(_without_token(request), 303)
            response.set_cookie(self._access.cookie, token, httponly=True, samesite="strict")
            return response
        if given is None and _equal(_cookie(request, self._access.cookie), token):
            return None
        return _no(403, "this page needs the link that was printed where the command was started")


def _no(status: int, told: str) -> Response:
    return page("templates/error.html", status, told=told)


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8"))


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).casefold()


def _same_origin(request: HTTPConnection, host: str) -> bool:
    """Tell whether a request comes from this site, from no site (a typed address), or by a link."""
    origin = request.headers.get("origin")
    if origin is not None:
        return origin in {f"http://{host}", f"https://{host}"}
    fetched = request.headers.get("sec-fetch-site", "none")
    if fetched in {"same-origin", "none"}:
        return True
    return request.scope["method"] in _SAFE and request.headers.get("sec-fetch-mode") == "navigate"


def _cookie(request: HTTPConnection, name: str) -> str:
    try:
        found: SimpleCookie = SimpleCookie(request.headers.get("cookie", ""))
    except CookieError:
        return ""
    values: dict[str, str] = {key: morsel.value for key, morsel in found.items()}
    return values.get(name, "")


def _without_token(request: HTTPConnection) -> str:
    pairs = request.scope["query_string"].decode("latin-1").split("&")
    kept = "&".join(pair for pair in pairs if not pair.startswith("token="))
    path = "/" + request.scope["raw_path"].decode("latin-1").lstrip("/")
    return path + ("?" + kept if kept else "")


def _closed(send: Send) -> Send:
    async def closed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return closed
