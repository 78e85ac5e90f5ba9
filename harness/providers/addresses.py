"""Where a request goes: its URL, and the proxy of the environment on the way there."""

from __future__ import annotations

import base64
import ipaddress
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from harness.errors import ConfigError


def request_url(base_url: str, path: str) -> tuple[str, str | None]:
    """Return the URL of a path below a base URL, and the Basic credentials that stood in the base URL.

    Query strings of both are kept. Raises ConfigError where the base URL is no HTTP address.
    """
    base = urlsplit(base_url.strip())
    if base.scheme not in {"http", "https"} or not base.hostname:
        shown = base._replace(netloc=base.netloc.rpartition("@")[2], query="").geturl()
        raise ConfigError(f"base_url {shown!r} is no HTTP address; write one like 'http://127.0.0.1:8000/v1'")
    path, _, query = path.partition("?")
    queries = "&".join(part for part in (base.query, query) if part)
    joined = f"{base.path.rstrip('/')}/{path.lstrip('/')}"
    return split_credentials(base._replace(path=joined, query=queries, fragment="").geturl())


def split_credentials(url: str) -> tuple[str, str | None]:
    """Return a URL without user and password, and the Basic authorization they make."""
    parts = urlsplit(url)
    user_info, _, netloc = parts.netloc.rpartition("@")
    if not user_info:
        return url, None
    plain = unquote(user_info if ":" in user_info else f"{user_info}:")
    basic = base64.b64encode(plain.encode("utf-8")).decode("ascii")
    return parts._replace(netloc=netloc).geturl(), f"Basic {basic}"


def environment_proxy(url: str) -> str | None:
    """Return the proxy that the environment names for an address, or None.

    Reads HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY in either case. Loopback never goes through a
    proxy. Raises ConfigError for a proxy that is not HTTP.
    """
    parts = urlsplit(url)
    if is_loopback(parts.hostname or ""):
        return None
    proxies = getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(_host_port(parts)):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    scheme = urlsplit(proxy).scheme
    if scheme not in {"http", "https"}:
        raise ConfigError(
            f"the environment names a {scheme!r} proxy for {parts.hostname!r}, and only http and https "
            f"proxies work; set {parts.scheme.upper()}_PROXY to one, or add the host to NO_PROXY"
        )
    return proxy


def is_loopback(host: str) -> bool:
    """Return True for names and addresses of this machine."""
    if host.lower().rstrip(".") == "localhost" or host.lower().endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host_port(parts: SplitResult) -> str:
    host = parts.hostname or ""
    return f"{host}:{parts.port}" if parts.port else host
