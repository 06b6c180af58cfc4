"""An OpenAI-compatible chat endpoint as a target."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from email.message import Message
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import msgspec

from referee.errors import OptionError, RefereeError
from referee.evaluate.targets.chat import chat_messages
from referee.evaluate.targets.target import Call
from referee.evaluate.threads import in_thread
from referee.jsonvalue import decode

#: Answers that say "try again later", and how often it is tried.
_BUSY = frozenset({429, 503})
_ATTEMPTS = 4
_LONGEST_WAIT = 60.0


class EndpointTargetError(RefereeError):
    """The endpoint gave no answer, or an HTTP error."""


class HttpTarget:
    """An endpoint that answers `POST .../chat/completions` as OpenAI's does.

    Busy answers (429 and 503) are tried again, after the time the endpoint asks for.

    Args:
        url: Its address, up to `/v1`, or with `/chat/completions`.
        model: The model's name in the request.
        api_key: Sent as a bearer token; it is in no error and no report.
        headers: Further headers.
        body: Further fields of the request, such as `temperature`; `target_options` are added to them.
        timeout: Seconds for one request.

    Raises:
        OptionError: The address is not http or https.
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
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise OptionError(f"the endpoint's address is like https://host/v1, not {url!r}")
        self.url = url if parts.path.endswith("/chat/completions") else f"{url.rstrip('/')}/chat/completions"
        self.place = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")
        self.model = model
        self.body = dict(body or {})
        self.timeout = timeout
        self._api_key = api_key
        self._headers = {"Content-Type": "application/json", **(headers or {})}

    def check(self, options: Mapping[str, Any]) -> None:
        """Any options may go into the request but the model and the messages.

        Raises:
            OptionError: They are among the options.
        """
        taken = {"model", "messages", "stream"} & {*options, *self.body}
        if taken:
            raise OptionError(f"an endpoint's request has its own {', '.join(sorted(taken))}")

    async def answer(self, call: Call) -> Any:
        """Ask the endpoint and give its response."""
        messages = chat_messages([*call.thread.messages, *call.messages])
        content = json.dumps({"model": self.model, "messages": messages, **self.body, **call.options}).encode()
        for attempt in range(1, _ATTEMPTS + 1):
            status, headers, received = await in_thread(lambda: self._post(content))
            if status not in _BUSY or attempt == _ATTEMPTS:
                break
            await asyncio.sleep(_wait(headers, attempt))
        if status >= 400:
            raise EndpointTargetError(f"HTTP {status} from {self.place}: {self._excerpt(received)}")
        try:
            return decode(received)
        except (msgspec.DecodeError, UnicodeError):
            raise EndpointTargetError(f"{self.place} answered no JSON: {self._excerpt(received)}") from None

    def _post(self, content: bytes) -> tuple[int, Message, bytes]:
        request = Request(self.url, data=content, headers=self._headers, method="POST")  # noqa: S310 - checked above
        if self._api_key:
            request.add_unredirected_header("Authorization", f"Bearer {self._api_key}")
        try:
            with urlopen(request, timeout=self.timeout) as response:  # noqa: S310 - checked above
                return response.status, response.headers, response.read()
        except HTTPError as error:
            with error:
                return error.code, error.headers, error.read()
        except (URLError, OSError, HTTPException) as error:
            raise EndpointTargetError(f"no answer from {self.place}: {getattr(error, 'reason', error)}") from None

    def _excerpt(self, received: bytes) -> str:
        text = " ".join(received[:2000].decode("utf-8", "replace").split())[:300]
        return text.replace(self._api_key, "[key]") if self._api_key else text


def _wait(headers: Message, attempt: int) -> float:
    """Seconds to wait: what the endpoint asks for, else twice as long each time."""
    try:
        asked = float(headers.get("Retry-After") or "")
    except ValueError:
        asked = 2.0 ** (attempt - 1)
    return min(max(asked, 0.0), _LONGEST_WAIT)
