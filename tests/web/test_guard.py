"""Requests from elsewhere, without the link, too long or too odd: each ends on a page that tells no more."""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from harness.errors import ConfigError, StoreError, UnknownNameError
from harness.web import guard
from harness.web.application import application
from harness.web.guard import HEADERS, POLICY, Access
from harness.web.static_files import asset

TOKEN = "t0ken-of-this-site"
HERE = "http://127.0.0.1:8731"
SECRET = "the complaint of a patient"
TYPED = {"sec-fetch-site": "none", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
FOLLOWED = {**TYPED, "sec-fetch-site": "cross-site"}


async def _shown(request: Request) -> Response:
    return PlainTextResponse(f"shown {request.url.query}")


async def _taken(request: Request) -> Response:
    return PlainTextResponse(f"took {len(await request.body())}")


async def _broken(request: Request) -> Response:
    raise KeyError(SECRET)


async def _torn(request: Request) -> Response:
    async def parts() -> Any:
        yield b"begun"
        raise KeyError(SECRET)

    return StreamingResponse(parts())


async def _raising(request: Request) -> Response:
    kinds = {"store": StoreError, "name": UnknownNameError, "config": ConfigError}
    raise kinds[request.path_params["kind"]]("what <b>happened</b>")


async def _teapot(request: Request) -> Response:
    raise HTTPException(418, "a <b>teapot</b>")


ROUTES = [
    Route("/", _shown),
    Route("/unit", _shown),
    Route("/take", _taken, methods=["POST"]),
    Route("/unread", _shown, methods=["POST"]),
    Route("/broken", _broken),
    Route("/torn", _torn),
    Route("/raise/{kind}", _raising),
    Route("/teapot", _teapot),
]


def _client(base_url: str = HERE, **changes: Any) -> TestClient:
    access = Access(**{"token": TOKEN, "cookie": "harness-8731", **changes})
    return TestClient(
        application(ROUTES, access), base_url=base_url, follow_redirects=False, raise_server_exceptions=False
    )


@pytest.fixture
def stranger() -> Iterator[TestClient]:
    """Somebody who has no link."""
    with _client() as client:
        yield client


@pytest.fixture
def guest() -> Iterator[TestClient]:
    """Somebody who has opened the link."""
    with _client() as client:
        client.cookies.set("harness-8731", TOKEN)
        yield client


def _check_refused(response: Any, status: int, words: str) -> None:
    assert response.status_code == status
    assert re.search(words, re.sub("<wbr>", "", response.text))
    assert TOKEN not in response.text and "set-cookie" not in response.headers
    check_headers(response.headers)


def check_headers(headers: Mapping[str, str]) -> None:
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cache-control"]


def test_the_policy_allows_nothing_from_elsewhere_and_nothing_inline() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in POLICY.split(";"))
    assert rules.pop("default-src") == rules.pop("base-uri") == rules.pop("frame-ancestors") == "'none'"
    assert set(rules.values()) == {"'self'"}
    assert rules.keys() >= {"script-src", "style-src", "img-src", "media-src", "connect-src", "form-action"}


# The link


def test_the_link_opens_a_page_and_the_cookie_all_others(stranger: TestClient) -> None:
    first = stranger.get("/unit?run=a%26b&token=" + TOKEN + "&case=1", headers=TYPED)
    assert (first.status_code, first.headers["location"]) == (303, "/unit?run=a%26b&case=1")
    cookie = first.headers["set-cookie"]
    assert cookie.startswith(f"harness-8731={TOKEN};")
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie and "Domain" not in cookie
    check_headers(first.headers)
    assert stranger.get("/unit?run=a").text == "shown run=a"


def test_the_link_in_a_mail_leads_on_by_a_page_of_ours(stranger: TestClient) -> None:
    """Browsers leave a SameSite=Strict cookie out of a redirect that another site began."""
    for headers in (FOLLOWED, {}):
        stranger.cookies.clear()
        first = stranger.get(f'/unit?run="<b>&token={TOKEN}', headers=headers)
        assert first.status_code == 200 and "set-cookie" in first.headers
        assert 'content="0;url=/unit?run=%22%3Cb%3E"' in first.text
        assert TOKEN not in first.text
        check_headers(first.headers)


def test_a_link_into_the_pages_from_elsewhere_says_what_to_do(stranger: TestClient) -> None:
    _check_refused(stranger.get("/unit", headers=FOLLOWED), 403, "needs the link that was printed")


@pytest.mark.parametrize(
    "query",
    ["", "?token=", "?token=wrong", f"?token={TOKEN}x", f"?token={TOKEN[:-1]}", "?token=%00",
     "?token=%ED%A0%80",
     f"?token={TOKEN}&token=wrong", f"?token=wrong&token={TOKEN}", f"?token={TOKEN}&token={TOKEN}",
     f"?TOKEN={TOKEN}", "?token=t%C3%B6ken"],
)  # fmt: skip
def test_without_the_token_nothing_is_shown(stranger: TestClient, query: str) -> None:
    _check_refused(stranger.get("/unit" + query, headers=TYPED), 403, "open the link|open that link")
    _check_refused(stranger.get("/nothing" + query, headers=TYPED), 403, "open the link|open that link")


def test_an_old_link_is_refused_whoever_opens_it(guest: TestClient) -> None:
    _check_refused(guest.get("/unit?token=of-yesterday", headers=TYPED), 403, "of an earlier start")


@pytest.mark.parametrize("value", ["", "wrong", TOKEN[:-1], TOKEN + "x", "tök", '"', "a=b"])
def test_a_wrong_cookie_opens_nothing(stranger: TestClient, value: str) -> None:
    header = f"harness-8731={value}".encode()
    _check_refused(stranger.get("/unit", headers={"cookie": header}), 403, "of an earlier start")


@pytest.mark.parametrize("name", ["harness", "harness-8732", "harness-8731x", "Harness-8731"])
def test_the_cookie_of_another_port_opens_nothing(stranger: TestClient, name: str) -> None:
    _check_refused(stranger.get("/unit", headers={"cookie": f"{name}={TOKEN}"}), 403, "needs the link")


@pytest.mark.parametrize(
    "others", ['odd"; {}', "a=b;;; {}", "{}; harness-8731=other", "harness-8731=other; {}", 'x="unclosed; {}']
)
def test_cookies_of_other_programs_shut_nobody_out(stranger: TestClient, others: str) -> None:
    cookie = others.format(f"harness-8731={TOKEN}")
    assert stranger.get("/unit", headers={"cookie": cookie}).status_code == 200


def test_tokens_are_compared_in_constant_time(stranger: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    compared, really = [], hmac.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return really(one, other)

    monkeypatch.setattr(guard.hmac, "compare_digest", compare)
    stranger.get("/unit?token=x", headers=TYPED)
    stranger.get("/unit", headers={"cookie": "harness-8731=y; harness-8731=z"})
    assert compared == [(given, TOKEN.encode()) for given in (b"x", b"y", b"z")]


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize(
    "path", [b"//evil.example/", b"///evil.example", b"/\\evil.example", b"http://evil.example/"]
)
async def test_the_link_never_leads_to_another_site(path: bytes, typed: bool) -> None:
    """As they stand in the request: a client would write them otherwise."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    headers = [(b"host", b"127.0.0.1"), *([(b"sec-fetch-site", b"none")] if typed else [])]
    scope = {"type": "http", "method": "GET", "path": "/", "raw_path": path, "headers": headers}
    scope |= {"query_string": f"token={TOKEN}".encode(), "scheme": "http", "server": ("127.0.0.1", 80)}
    await application(ROUTES, Access(TOKEN))(scope, receive, send)
    place = dict(sent[0]["headers"]).get(b"location", b"") or sent[1]["body"].partition(b"0;url=")[2]
    assert sent[0]["status"] == (303 if typed else 200)
    assert re.match(rb"/[^/\\]", place)


def test_the_token_is_taken_out_however_its_name_is_spelt(stranger: TestClient) -> None:
    first = stranger.get(f"/unit?%74oken={TOKEN}&tokens=1", headers=TYPED)
    assert (first.status_code, first.headers["location"]) == (303, "/unit?tokens=1")


def test_pages_with_a_token_in_their_path_have_no_cookie() -> None:
    with _client(token=None) as client:
        assert client.get("/unit?token=x").text == "shown token=x"
        _check_refused(client.get("/unit", headers={"host": "evil.example"}), 421, "not called by that name")
        _check_refused(client.post("/take", headers={"origin": "http://evil.example"}), 403, "another site")


# Names: DNS rebinding


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:8731", "localhost:9", "LocalHost", "[::1]:8731", "[::1]", "127.0.0.1", "lab.example:8731"],
)
def test_the_site_is_called_by_its_names(host: str) -> None:
    with _client(hosts=frozenset({"lab.example"})) as client:
        client.cookies.set("harness-8731", TOKEN)
        assert client.get("/unit", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8731", "127.0.0.1.evil.example", "localhost.evil.example:8731", "",
     ":8731",
     "127.0.0.1:8731:80", "127.0.0.1@evil.example", "[::2]:8731", "10.0.0.5:8731", "127.0.0.1:x", "0.0.0.0"],
)  # fmt: skip
def test_any_other_name_is_refused_with_the_token_too(guest: TestClient, host: str) -> None:
    for path in ("/unit", f"/?token={TOKEN}", asset("app.css")):
        _check_refused(guest.get(path, headers={"host": host}), 421, "not called by that name")


def test_two_names_are_none(guest: TestClient) -> None:
    headers = [("host", "127.0.0.1:8731"), ("host", "evil.example")]
    _check_refused(guest.get("/unit", headers=headers), 421, "not called by that name")


def test_on_all_addresses_a_number_is_a_name_and_a_strange_name_none() -> None:
    with _client(any_address=True) as client:
        client.cookies.set("harness-8731", TOKEN)
        for host in ("192.168.1.7:8731", "[fd00::7]:8731", "10.0.0.5"):
            assert client.get("/unit", headers={"host": host}).status_code == 200
        _check_refused(client.get("/unit", headers={"host": "evil.example"}), 421, "not called by that name")


# Other sites

OTHERS: dict[str, dict[str, str]] = {
    "an image": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
    "a script": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"},
    "fetch": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "origin": "http://evil.example"},
    "another port": {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
    "no more than a mode": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"},
    "a frame": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    "an origin alone": {"origin": "http://evil.example"},
    "another port's origin": {"origin": "http://127.0.0.1:9999"},
    "another scheme": {"origin": "https://127.0.0.1:8731"},
    "another name of ours": {"origin": "http://localhost:8731"},
    "an opaque origin": {"origin": "null"},
}


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("path", ["/unit", f"/?token={TOKEN}", "/static/app.css"])
def test_another_site_gets_nothing(guest: TestClient, kind: str, path: str) -> None:
    _check_refused(guest.get(path, headers=OTHERS[kind]), 403, "another site")


@pytest.mark.parametrize("kind", [*OTHERS, "a form"])
def test_another_site_sends_nothing(guest: TestClient, kind: str) -> None:
    headers = OTHERS.get(kind, {**FOLLOWED, "origin": "http://evil.example"})
    _check_refused(guest.post("/take", headers=headers, content="a=1"), 403, "another site")


def test_a_form_that_another_site_sends_is_refused_by_what_the_browser_says_of_it(guest: TestClient) -> None:
    _check_refused(guest.post("/take", headers=FOLLOWED, content="a=1"), 403, "another site")


def test_two_origins_are_another_site(guest: TestClient) -> None:
    headers = [("origin", HERE), ("origin", "http://evil.example")]
    _check_refused(guest.post("/take", headers=headers), 403, "another site")


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": HERE},
        {"origin": HERE, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors"},
        TYPED,
        {},
    ],
)
def test_this_site_may_send_and_ask(guest: TestClient, headers: dict[str, str]) -> None:
    assert guest.get("/unit", headers=headers).text == "shown "
    assert guest.post("/take", headers=headers, content="a=1").text == "took 3"


def test_a_link_within_another_application_opens_the_page_of_a_guest(guest: TestClient) -> None:
    assert guest.get("/unit", headers=FOLLOWED).status_code == 200


# Form


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get"]
)
def test_other_methods_are_refused(guest: TestClient, method: str) -> None:
    response = guest.send(guest.build_request("GET", "/unit"))
    assert response.status_code == 200
    request = guest.build_request("GET", "/unit")
    request.method = method
    response = guest.send(request)
    _check_refused(response, 405, "only read")
    assert response.headers["allow"] == "GET, HEAD, POST"


def test_a_page_is_not_sent_to(guest: TestClient) -> None:
    response = guest.post("/unit")
    _check_refused(response, 405, "cannot be asked for in this way")
    assert set(response.headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_an_address_may_be_long_but_not_endless(guest: TestClient) -> None:
    assert guest.get("/unit?text=" + "a" * 31_000).status_code == 200
    _check_refused(guest.get("/unit?text=" + "a" * 32_000), 414, "too long")
    _check_refused(guest.get("/" + "a" * 32_000), 414, "too long")


def test_a_long_body_is_refused_by_a_page() -> None:
    with _client(max_body_bytes=1000) as client:
        client.cookies.set("harness-8731", TOKEN)
        assert client.post("/take", content=b"x" * 1000).text == "took 1000"
        response = client.post("/take", content=b"x" * 1001)
        _check_refused(response, 413, "longer than 1,000 bytes")
        assert response.headers["connection"] == "close"
        _check_refused(client.post("/unread", content=b"x" * 1001), 413, "longer than 1,000 bytes")


def test_a_long_body_that_says_no_length_is_refused_too() -> None:
    with _client(max_body_bytes=1000) as client:
        client.cookies.set("harness-8731", TOKEN)
        assert client.post("/take", content=iter([b"x" * 500] * 2)).text == "took 1000"
        response = client.post("/take", content=iter([b"x" * 500] * 3))
        _check_refused(response, 413, "longer than 1,000 bytes")


@pytest.mark.parametrize("length", ["-1", "1e9", "٣", "x", "9" * 30])
def test_an_odd_length_counts_for_nothing(length: str) -> None:
    with _client(max_body_bytes=1000) as client:
        client.cookies.set("harness-8731", TOKEN)
        response = client.post("/take", content=b"x" * 1001, headers={"content-length": length.encode()})
        _check_refused(response, 413, "longer than 1,000 bytes")


# Every response


@pytest.mark.parametrize(
    ("path", "status"),
    [("/", 200), ("/unit", 200), ("/nothing", 404), ("/static/nothing.css", 404),
     ("/static/../guard.py", 404),
     ("/static/%2e%2e%2fguard.py", 404), (asset("app.css"), 200), (asset("keys.js"), 200), ("/broken", 500),
     ("/raise/store", 500), ("/raise/name", 404), ("/raise/config", 400), ("/teapot", 418), ("/unit/", 307)],
)  # fmt: skip
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_every_response_has_the_policy(guest: TestClient, method: str, path: str, status: int) -> None:
    response = guest.request(method, path)
    assert response.status_code == status
    check_headers(response.headers)
    assert set(HEADERS) <= set(response.headers)
    assert "<b>" not in response.text and SECRET not in response.text


def test_what_fails_ends_on_a_page_and_in_a_line_without_its_text(
    guest: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    response = guest.get(f"/broken?case={SECRET}")
    assert response.status_code == 500 and "the program failed at this page" in response.text
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("harness")]
    assert len(ours) == 1 and ours[0].startswith("error: a page failed: KeyError in ")
    assert "\n" not in ours[0] and SECRET not in ours[0] and TOKEN not in ours[0]


def test_whoever_debugs_is_told_where_and_still_no_text(
    guest: TestClient, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_DEBUG", "1")
    guest.get("/broken")
    told = "\n".join(record.getMessage() for record in caplog.records if record.name.startswith("harness"))
    assert "raise KeyError(SECRET)" in told and SECRET not in told


def test_a_response_that_breaks_on_its_way_is_told_once(
    guest: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    response = guest.get("/torn")
    assert "500" not in response.text
    ours = [record for record in caplog.records if record.name.startswith("harness")]
    assert len(ours) == 1 and SECRET not in ours[0].getMessage()


# Static files


def test_a_static_file_is_kept_for_ever_by_its_digest_and_asked_for_again_without(
    stranger: TestClient,
) -> None:
    found = stranger.get(asset("app.css"))
    assert found.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert found.headers["content-type"].startswith("text/css")
    for address in ("/static/app.css", "/static/app.css?v=old"):
        assert stranger.get(address).headers["cache-control"] == "no-cache"
    again = stranger.get("/static/app.css", headers={"if-none-match": f'"x", W/{found.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    check_headers(again.headers)


def test_long_texts_are_packed_and_short_ones_are_not(guest: TestClient) -> None:
    assert guest.get(asset("app.css")).headers["content-encoding"] == "gzip"
    assert "content-encoding" not in guest.get("/unit").headers
    plain = guest.get(asset("app.css"), headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == guest.get(asset("app.css")).text
