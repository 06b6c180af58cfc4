"""An OpenAI-compatible chat endpoint as a target."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Mapping
from email.message import Message
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import msgspec

from referee.errors import OptionError, RefereeError
from referee.evaluate.targets.chat import chat_messages
from referee.evaluate.targets.target import Call
from referee.evaluate.threads import in_thread
from referee.jsonvalue import decode
from referee.judge.openai_client import retry_after
from referee.judge.redaction import redacted
from referee.terminal import one_line

#: Answers that say "try again later", and how often it is tried.
_BUSY = frozenset({429, 503})
_ATTEMPTS = 4
_LONGEST_WAIT = 60.0
_MOST_BYTES = 16 * 1024 * 1024
_SHOWN = 300
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_SERVICE = "/chat/completions"


class EndpointTargetError(RefereeError):
    """The endpoint gave no answer, or an HTTP error."""


class HttpTarget:
    """An endpoint that answers `POST .../chat/completions` as OpenAI's does.

    Busy answers (429 and 503) are tried again, after the time the endpoint asks for. Redirects are not followed.

    Args:
        url: Its address, up to `/v1`, or with `/chat/completions`.
        model: The model's name in the request.
        api_key: Sent as a bearer token; it is in no error and no report.
        headers: Further headers. Their values are in no error and no report either.
        body: Further fields of the request, such as `temperature`; `target_options` are added to them.
        timeout: Seconds for one request, to the end of its answer.

    Raises:
        OptionError: The address is not http or https or has a password in it, a header or the key can't be sent, or
            the timeout is no number above 0.
    """

    mocks_tools = False
    converses = True

    def __init__(
        self,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        headers: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        timeout: float = 120.0,
    ) -> None:
        address = _address(url)
        path = address.path.rstrip("/")
        self.url = urlunsplit(address._replace(path=path.removesuffix(_SERVICE) + _SERVICE, fragment=""))
        self.place = f"{address.scheme}://{address.netloc}"
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout < math.inf:
            raise OptionError(f"the endpoint's timeout is a number of seconds above 0, not {timeout!r}")
        if not isinstance(model, str):
            raise OptionError(f"the endpoint's model is a name, not {model!r}")
        self.model = model
        self.body = dict(body or {})
        self.timeout = timeout
        self._api_key = _header_value(api_key, "api_key") if api_key is not None else None
        named = {
            _header_name(name): _header_value(value, f"the header {name}") for name, value in (headers or {}).items()
        }
        self._headers = {"Content-Type": "application/json", **named}
        given = [part for value in named.values() for part in (value, *value.split())]
        self._secrets = [secret for secret in (api_key, address.query, *given) if secret]

    def check(self, options: Mapping[str, Any]) -> None:
        """Any options may go into the request but the model and the messages.

        Raises:
            OptionError: They are among the options, or a field is no JSON.
        """
        try:
            json.dumps({**self.body, **options})
        except (TypeError, ValueError) as error:
            raise OptionError(f"the fields of an endpoint's request must be JSON: {error}") from None
        taken = {"model", "messages", "stream"} & {*options, *self.body}
        if taken:
            raise OptionError(f"an endpoint's request has its own {', '.join(sorted(taken))}")

    async def answer(self, call: Call) -> Any:
        """Ask the endpoint and give its response."""
        messages = chat_messages([*call.thread.messages, *call.messages])
        content = json.dumps({"model": self.model, "messages": messages, **self.body, **call.options}).encode()
        for attempt in range(1, _ATTEMPTS + 1):
            status, headers, received = await self._asked(content)
            if status not in _BUSY or attempt == _ATTEMPTS:
                break
            await asyncio.sleep(_wait(headers, attempt))
        text = redacted(received.decode("utf-8", "replace"), self._secrets)
        if status >= 300:
            hint = " (redirects are not followed)" if status < 400 else ""
            raise EndpointTargetError(f"HTTP {status} from {self.place}{hint}: {one_line(text, _SHOWN)}")
        try:
            answer = decode(text)
        except (msgspec.DecodeError, RecursionError):
            raise EndpointTargetError(f"{self.place} answered no JSON: {one_line(text, _SHOWN)}") from None
        if not isinstance(answer, dict) or not isinstance(answer.get("choices"), list) or not answer["choices"]:
            raise EndpointTargetError(f"{self.place} answered without choices: {one_line(text, _SHOWN)}")
        return answer

    async def _asked(self, content: bytes) -> tuple[int, Message, bytes]:
        try:
            async with asyncio.timeout(self.timeout):
                return await in_thread(lambda: self._post(content))
        except TimeoutError:
            raise EndpointTargetError(f"no whole answer from {self.place} within {self.timeout:g} s") from None

    def _post(self, content: bytes) -> tuple[int, Message, bytes]:
        request = Request(self.url, data=content, headers=self._headers, method="POST")  # noqa: S310 - checked above
        if self._api_key:
            request.add_unredirected_header("Authorization", f"Bearer {self._api_key}")
        try:
            with _open(request, timeout=self.timeout) as response:
                return response.status, response.headers, self._limited(response)
        except HTTPError as error:
            with error:
                return error.code, error.headers, self._limited(error)
        except (URLError, OSError, HTTPException, ValueError) as error:
            reason = redacted(str(getattr(error, "reason", error)), self._secrets)
            raise EndpointTargetError(f"no answer from {self.place}: {one_line(reason, _SHOWN)}") from None

    def _limited(self, response: Any) -> bytes:
        """The whole body, if it is not absurdly large."""
        received: bytes = response.read(_MOST_BYTES + 1)
        if len(received) > _MOST_BYTES:
            raise EndpointTargetError(f"the answer of {self.place} is larger than {_MOST_BYTES:,} bytes")
        return received


class _NoRedirects(HTTPRedirectHandler):
    """Gives a redirect as it is: followed, it would take keys and questions to an address that nobody named."""

    def redirect_request(self, *_: Any) -> None:
        return None


_open = build_opener(_NoRedirects).open


def _address(url: str) -> SplitResult:
    """The parts of an address that can be asked. An error does not show it: there may be a password in it."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except (ValueError, AttributeError, TypeError):
        usable = False
    if not usable:
        raise OptionError("the endpoint's address is like https://host/v1")
    if "@" in parts.netloc:
        raise OptionError("the endpoint's address has a user in it: give api_key=, or headers={'Authorization': ...}")
    return parts


def _header_name(name: Any) -> str:
    if not isinstance(name, str) or not _HEADER_NAME.fullmatch(name):
        raise OptionError(f"the header {name!r} has a name that can't be sent")
    return name


def _header_value(value: Any, what: str) -> str:
    """The value, if a request can carry it. An error does not show it: it may be a secret."""
    if not isinstance(value, str):
        raise OptionError(f"{what} is a text, not {type(value).__name__}")
    if not value.isprintable() or not value.isascii():
        raise OptionError(f"{what} has a line break, or a character that is no plain ASCII, in it, and can't be sent")
    return value


def _wait(headers: Message, attempt: int) -> float:
    """Seconds to wait: what the endpoint asks for, else twice as long each time."""
    asked = retry_after(headers)
    return min(2.0 ** (attempt - 1) if asked is None else asked, _LONGEST_WAIT)
