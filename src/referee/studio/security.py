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
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from referee.errors import RefereeError

#: What is sent is not longer than this.
MOST_BODY_BYTES = 1_000_000
#: A name or an IPv4 address, or an IPv6 address in brackets, and perhaps a port.
_HOST = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[0-9A-Za-z._-]+))(?::[0-9]{1,5})?")
#: What is sent has at most so many fields.
MOST_FIELDS = 2000
#: The field of a form that ties it to its browser.
SEAL = "seal"
TOKEN_COOKIE, FORM_COOKIE = "referee_token", "referee_form"
LOGIN_PATH = "/login"
#: Served without the token: the login page needs them.
_OPEN_PATHS = (LOGIN_PATH, "/static/studio.css", "/static/studio.js", "/static/icon.svg")

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
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
        takes: Paths that something can be sent to.
        token: What a browser must have shown once; `None` when only this machine can reach the server.
    """

    def __init__(self, app: ASGIApp, *, names: frozenset[str], takes: frozenset[str], token: str | None = None) -> None:
        self._app = app
        self._names = names
        self._takes = takes
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
            if scope["method"] != "POST" or scope["path"] not in self._takes:
                allowed = "POST" if scope["path"] in self._takes else "GET, HEAD"
                return PlainTextResponse("nothing can be sent here\n", 405, headers={"Allow": allowed})
            if not may_send(headers):
                return _refused("what is sent counts only from the Studio's own pages, or as JSON from a program", 403)
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


def may_send(headers: Headers) -> bool:
    """Whether what is sent may count. A page elsewhere can send a form, but no JSON without being asked about it first.

    So a form must say that it comes from here; JSON of a program says no origin.
    """
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    if "origin" in headers:
        return is_own_origin(headers)
    return is_json(headers)


def is_json(headers: Headers) -> bool:
    """Whether JSON is sent."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


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

    async def read(self, request: Request) -> list[tuple[str, str]]:
        """The fields that were sent, as a form of ours or as a JSON object.

        Raises:
            SendingError: They can't be read, are too long, or the form was not given to this browser.
        """
        body = await _body(request)
        if is_json(request.headers):
            return _fields_of_json(body)
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
            raise SendingError("send a form or JSON: Content-Type: application/json", 415)
        try:
            fields = parse_qsl(body.decode(), max_num_fields=MOST_FIELDS)
        except (UnicodeDecodeError, ValueError):
            raise SendingError("this form can't be read", 400) from None
        secret = cookie(request.headers, FORM_COOKIE)
        seal = next((value for name, value in fields if name == SEAL), "")
        if not secret or not same(seal, self.seal(secret)):
            raise SendingError("this form is no longer valid: load its page again, and send it from there", 403)
        return [(name, value) for name, value in fields if name != SEAL]


class SendingError(RefereeError):
    """What was sent is refused.

    Attributes:
        status: The status of the answer.
    """

    def __init__(self, words: str, status: int) -> None:
        super().__init__(words)
        self.status = status


async def _body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY_BYTES:
            raise SendingError(f"this is too much: at most {MOST_BODY_BYTES:,} bytes can be sent", 413)
    return body


def _fields_of_json(body: bytes) -> list[tuple[str, str]]:
    """The fields of a JSON object as a form has them: lists as repeated fields, objects as JSON texts."""
    try:
        given = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        given = None
    if not isinstance(given, Mapping) or len(given) > MOST_FIELDS:
        raise SendingError("expected a JSON object of the fields", 400)
    fields: list[tuple[str, str]] = []
    for name, value in given.items():
        fields += [(name, _text(one)) for one in (value if isinstance(value, list) else [value]) if one is not None]
    return fields


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _refused(words: str, status: int) -> Response:
    return PlainTextResponse(f"{words}\n", status)
