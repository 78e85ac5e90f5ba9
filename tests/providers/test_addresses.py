"""URLs and proxies."""

from __future__ import annotations

import pytest

from harness.errors import ConfigError
from harness.providers.addresses import environment_proxy, is_loopback, request_url


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize(
    ("base_url", "path", "expected"),
    [
        ("http://h:1/v1", "/chat", "http://h:1/v1/chat"),
        ("http://h/v1/", "chat", "http://h/v1/chat"),
        ("https://h/v1?api-version=2", "/chat?alt=sse", "https://h/v1/chat?api-version=2&alt=sse"),
        ("https://h", "/models/m:generateContent", "https://h/models/m:generateContent"),
        ("http://[::1]:8000/v1", "/chat", "http://[::1]:8000/v1/chat"),
    ],
)
def test_a_path_is_put_below_the_base_url(base_url: str, path: str, expected: str) -> None:
    assert request_url(base_url, path) == (expected, None)


def test_a_refused_base_url_shows_no_password() -> None:
    with pytest.raises(ConfigError) as caught:
        request_url("ftp://user:secret@host/v1?key=secret", "/x")
    assert "secret" not in str(caught.value)  # F46


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.1", "::1", "a.localhost"])
def test_loopback_never_goes_through_a_proxy(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    assert is_loopback(host)
    shown = f"[{host}]" if ":" in host else host
    assert environment_proxy(f"http://{shown}:8000/v1") is None


def test_a_provider_is_reached_through_the_proxy_of_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy:3128")
    assert environment_proxy("https://api.example/v1") == "http://proxy:3128"
    assert environment_proxy("http://api.example/v1") is None


def test_no_proxy_is_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("NO_PROXY", "lab.example")
    assert environment_proxy("https://gpu.lab.example/v1") is None


def test_a_socks_proxy_is_refused_with_a_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://user:secret@proxy:1080")
    with pytest.raises(ConfigError, match="NO_PROXY") as caught:
        environment_proxy("https://api.example/v1")
    assert "secret" not in str(caught.value)  # F46
