"""Who may open a page: the holder of a token, from this site alone, and nothing from elsewhere comes in.

A request passes these, in order: its method, its length, its Host, where it comes from, the token. The rules
of browsers that they rest on: Fetch (https://fetch.spec.whatwg.org, Origin of a request), Fetch Metadata
(https://w3c.github.io/webappsec-fetch-metadata), RFC 6265bis (SameSite).
"""

from __future__ import annotations

import hmac
import ipaddress
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote_plus

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from harness.internal_errors import code_lines, kind_and_place
from harness.web.links import Query
from harness.web.pages import page
from harness.web.request_body import BODY_S, Body

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
# Not "no-referrer": forms would be sent with `Origin: null` then, which nobody can tell from another site's.
HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), usb=(), payment=()",
    "x-robots-tag": "noindex",
    "cache-control": "no-store",
}
"""Headers of every response, its errors too; a route may give its own instead."""

MAX_BODY_BYTES: Final = 1_048_576
_MAX_TARGET_BYTES: Final = 32_000
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SAFE: Final = frozenset({"GET", "HEAD"})
_METHODS: Final = _SAFE | {"POST"}
_NO_LINK: Final = (
    "this page needs the link that was printed where the command was started; open that link, or start the "
    "command again for a new one"
)

_OLD_LINK: Final = (
    "this link, or what this browser kept of one, is of an earlier start of the command, or was changed on "
    "its way: a link opens pages until the command that printed it ends; open the link that it printed last, "
    "where it was started; after that, bookmarks and other addresses of this site open in this browser too"
)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Access:
    """Who may open what.

    `token`: opens all pages, as `?token=` once and then by a cookie of the name `cookie`, which should hold
    the port (browsers do not keep the cookies of ports apart); None: the routes check a token in their path
    themselves. `hosts`: names beside loopback by which the site is called, in lower case, IPv6 in brackets;
    `any_address`: it may be called by any address in numbers (no name that somebody else owns)
    too. `max_body_bytes`, `body_s`: how long a form may be, and how many seconds it may take to come.
    """

    token: str | None
    cookie: str = "harness"
    hosts: frozenset[str] = frozenset()
    any_address: bool = False
    max_body_bytes: int = MAX_BODY_BYTES
    body_s: float = BODY_S


class Guard:
    """Middleware that lets a request through, or ends it by a page; what fails within ends by a page too."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, sending = HTTPConnection(scope), _Sending(send)
        body = Body(receive, request.headers, self._access.max_body_bytes, self._access.body_s)
        if body.too_long:
            await body.drain()
            await body.refusal()(scope, receive, sending)
            return
        try:
            await (self._refusal(request) or self._app)(scope, body, sending)
        except ClientDisconnect:
            return
        except Exception as error:  # noqa: BLE001 - told without its text, which may quote a case
            _log.error("error: a page failed: %s%s", kind_and_place(error), code_lines(error, _log))
            if not sending.started:
                told = "the program failed at this page; the terminal where it was started says where"
                await _no(500, told)(scope, receive, sending)

    def _refusal(self, request: HTTPConnection) -> Response | None:
        return self._by_form(request) or self._by_origin(request) or self._by_token(request)

    def _by_form(self, request: HTTPConnection) -> Response | None:
        if request.scope["method"] not in _METHODS:
            return _no(405, "pages are only read, or sent as a form", allow="GET, HEAD, POST")
        if len(request.scope["raw_path"]) + len(request.scope["query_string"]) > _MAX_TARGET_BYTES:
            return _no(414, "this address is too long; search for a shorter text")
        return None

    def _by_origin(self, request: HTTPConnection) -> Response | None:
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self._is_ours(_without_port(hosts[0])):
            return _no(421, "this site is not called by that name; open the address that was printed")
        if not _from_here(request, hosts[0].casefold()):
            return _no(403, "another site asked for this page; open it by the link that was printed")
        return None

    def _is_ours(self, name: str) -> bool:
        if name in _LOOPBACK | self._access.hosts:
            return True
        return self._access.any_address and _is_address(name.strip("[]"))

    def _by_token(self, request: HTTPConnection) -> Response | None:
        token = self._access.token
        if token is None or request.scope["path"].startswith("/static/"):
            return None
        given = Query(request.scope["query_string"]).all("token")
        if len(given) == 1 and _equal(given[0], token):
            return self._let_in(request, token)
        cookies = _cookies(request, self._access.cookie)
        # All are compared: another program of this machine may have set one of the same name.
        if not given and sum(_equal(cookie, token) for cookie in cookies):
            return None
        return _no(403, _OLD_LINK if given or cookies else _NO_LINK)

    def _let_in(self, request: HTTPConnection, token: str) -> Response:
        """Give the cookie, and lead to the same page without the token.

        A SameSite=Strict cookie does not go with a redirect of a navigation that began on another site (a
        link in a mail, say), nor can it be told where browsers say nothing: then a page of ours leads on.
        """
        place = _without_token(request)
        if request.headers.get("sec-fetch-site") in {"none", "same-origin"}:
            response: Response = RedirectResponse(place, 303)
        else:
            response = page("templates/entrance.html", place=place)
        response.set_cookie(self._access.cookie, token, httponly=True, samesite="strict")
        return response


class _Sending:
    """Sends messages of a response, with the headers of all of them."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _no(status: int, told: str, **headers: str) -> Response:
    response = page("templates/error.html", status, told=told)
    response.headers.update(headers)
    return response


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8"))


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host).casefold()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _from_here(request: HTTPConnection, host: str) -> bool:
    """Tell whether a request comes from this site, from no site (a typed address, a program) or by a link.

    A POST of a program needs no Origin; browsers send one with every form.
    """
    origins = request.headers.getlist("origin")
    fetched = request.headers.get("sec-fetch-site", "none")
    if origins and origins != [f"http://{host}"]:
        return False
    if fetched in {"same-origin", "none"}:
        return True
    followed = request.headers.get("sec-fetch-mode") == "navigate"
    whole_page = request.headers.get("sec-fetch-dest", "document") == "document"
    return request.scope["method"] in _SAFE and followed and whole_page


def _cookies(request: HTTPConnection, name: str) -> list[str]:
    """Return the values of all cookies of a name; what else stands there, however broken, hides none."""
    pairs = (pair.partition("=") for given in request.headers.getlist("cookie") for pair in given.split(";"))
    return [value.strip() for key, _, value in pairs if key.strip() == name]


def _without_token(request: HTTPConnection) -> str:
    pairs = request.scope["query_string"].decode("latin-1").split("&")
    kept = "&".join(pair for pair in pairs if unquote_plus(pair.partition("=")[0]) != "token")
    # Two slashes at the beginning would name another site.
    path = "/" + request.scope["raw_path"].decode("latin-1").lstrip("/\\")
    return f"{path}?{kept}" if kept else path
