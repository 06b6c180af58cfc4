"""Who may ask, and what an answer may do in a browser.

A page on another site can send requests to a server on this machine, and can make its own name point here (DNS
rebinding). So the name that was asked for must be one of ours or an IP address, which cannot be rebound; a form counts
only from our own pages; and answers forbid every script, style and request that does not come from here.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: A form is not longer than this.
MOST_BODY_BYTES = 65_536
#: A name or an IPv4 address, or an IPv6 address in brackets, and perhaps a port.
_HOST = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[0-9A-Za-z._-]+))(?::[0-9]{1,5})?")
TOKEN_COOKIE, FORM_COOKIE = "referee_token", "referee_form"
LOGIN_PATH = "/login"
#: Served without the token: the login page needs them.
_OPEN_PATHS = (LOGIN_PATH, "/static/studio.css", "/static/studio.js", "/static/icon.svg")

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """Lets in only requests that may ask, and puts the headers on every answer.

    Args:
        app: The pages.
        names: Host names under which the Studio is asked for; IP addresses always may be.
        token: What a browser must have shown once; `None` when only this machine can reach the server.
    """

    def __init__(self, app: ASGIApp, *, names: frozenset[str], token: str | None = None) -> None:
        self._app = app
        self._names = names
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(Headers(scope=scope), scope)
        if refusal is not None:
            await refusal(scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)

    def _refusal(self, headers: Headers, scope: Scope) -> Response | None:
        if not is_known_host(headers.get("host", ""), self._names):
            return _refused("this name is not one that the Studio answers to", 421)
        if scope["method"] not in ("GET", "HEAD"):
            if scope["method"] != "POST" or scope["path"] != LOGIN_PATH:
                return _refused("nothing can be sent here", 405)
            if not is_own_origin(headers):
                return _refused("a form counts only from the Studio's own pages", 403)
        if self._token is not None and scope["path"] not in _OPEN_PATHS and not self._shows_token(headers):
            if "text/html" in headers.get("accept", ""):
                return RedirectResponse(LOGIN_PATH, 303)
            return _refused("a token is needed: send it as Authorization: Bearer", 401)
        return None

    def _shows_token(self, headers: Headers) -> bool:
        assert self._token is not None
        given = headers.get("authorization", "")
        if given.startswith("Bearer ") and same(given.removeprefix("Bearer "), self._token):
            return True
        return same(cookie(headers, TOKEN_COOKIE), session_of(self._token))


def is_known_host(host: str, names: frozenset[str]) -> bool:
    """Whether the `Host` of a request is an IP address or one of the names.

    Example:
        >>> is_known_host("127.0.0.1:8000", frozenset()), is_known_host("[::1]:80", frozenset())
        (True, True)
        >>> is_known_host("evil.example", frozenset({"localhost"})), is_known_host("localhost:1", frozenset({"localhost"}))
        (False, True)
    """
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = (found["address"] or found["name"]).lower()
    if name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_own_origin(headers: Headers) -> bool:
    """Whether a form was sent from a page of this server. Browsers always say where a form comes from."""
    origin = urlsplit(headers.get("origin", ""))
    return origin.scheme in ("http", "https") and origin.netloc == headers.get("host", "")


def same(given: str, expected: str) -> bool:
    """Whether two secrets are the same, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


def cookie(headers: Headers, name: str) -> str:
    """The value of a cookie, empty when there is none."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def session_of(token: str) -> str:
    """What a browser keeps in place of the token."""
    return hmac.new(token.encode(), b"referee studio session", hashlib.sha256).hexdigest()


class Forms:
    """Ties a form to the browser that it was given to: a secret in a cookie, and its seal in the form."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def seal(self, secret: str) -> str:
        """The seal of a browser's secret."""
        return hmac.new(self._key, secret.encode("utf-8", "replace"), hashlib.sha256).hexdigest()

    async def read(self, request: Request) -> dict[str, str] | None:
        """The fields of a form; `None` when it was not given to this browser, or is too long."""
        body = b""
        async for part in request.stream():
            body += part
            if len(body) > MOST_BODY_BYTES:
                return None
        try:
            fields = parse_qs(body.decode(), max_num_fields=100)
        except (UnicodeDecodeError, ValueError):
            return None
        secret = cookie(request.headers, FORM_COOKIE)
        if not secret or not same(fields.get("seal", [""])[0], self.seal(secret)):
            return None
        return {name: values[0] for name, values in fields.items()}


def _refused(words: str, status: int) -> Response:
    return PlainTextResponse(f"{words}\n", status)
