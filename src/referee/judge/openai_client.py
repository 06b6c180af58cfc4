"""The client of OpenAI-compatible endpoints: chat completions over HTTP."""

from __future__ import annotations

import math
import os
import time
from collections.abc import AsyncGenerator, Mapping
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from referee.errors import EndpointError, MissingExtraError
from referee.judge.capabilities import Capabilities
from referee.judge.endpoints import Endpoint
from referee.judge.exchange import Finish, Reply, Request
from referee.judge.forms import words_of
from referee.judge.per_loop import PerLoop
from referee.judge.prices import Price
from referee.judge.redaction import redacted
from referee.scores import JudgeUsage

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

#: Statuses after which the same request may succeed later.
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
#: Refusals after which a request may be sent in another way.
_REFUSED = frozenset({400, 404, 422, 501})
#: A 429 with one of these words will not pass by waiting.
_QUOTA = ("insufficient_quota", "exceeded your current quota", "billing", "credit balance", "payment")
#: The code of a prompt that a content filter did not let through.
_FILTERED = '"content_filter"'
_MOST_LESSONS = 6
_MOST_BYTES = 16 * 1024 * 1024
_MOST_SHOWN = 300
_ALTERNATIVES = 20


class _Message(msgspec.Struct):
    content: Any = None
    refusal: Any = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: Any = None
    logprobs: Any = None


class _Completion(msgspec.Struct):
    """The parts of a completion that are read. Endpoints differ in the rest, and in the types of side matters."""

    choices: list[_Choice]
    usage: Any = None


class _Token(msgspec.Struct):
    token: str
    logprob: float
    top_logprobs: list[_Token] = []


class _Logprobs(msgspec.Struct):
    content: list[_Token]


class OpenAIClient:
    """Asks a model at an OpenAI-compatible endpoint, one request and one reply at a time.

    Args:
        endpoint: Where the model is.
        price: The model's price.
        extra_body: Further fields for every request.

    Raises:
        MissingExtraError: aiohttp is not installed.
    """

    def __init__(
        self, endpoint: Endpoint, *, price: Price | None = None, extra_body: Mapping[str, Any] | None = None
    ) -> None:
        self._endpoint = endpoint
        self._price = price
        self._extra = dict(extra_body or {})
        self._url = endpoint.url
        self._secrets = endpoint.secrets
        self._headers = {"Content-Type": "application/json"}
        if endpoint.authorization:
            self._headers["Authorization"] = endpoint.authorization
        try:
            import aiohttp  # noqa: F401
        except ImportError:
            raise MissingExtraError("a judge over HTTP", package="aiohttp", extra="judge") from None
        self._sessions = PerLoop(_session)
        # OpenAI's newer models refuse max_tokens; most other endpoints know no other name.
        self.capabilities = Capabilities(newer_names=endpoint.provider == "openai")

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        await self._sessions.close()

    async def send(self, request: Request) -> Reply:
        """Send the request; again at once in another way if the model can't take it as it is.

        Raises:
            EndpointError: There is no reply.
        """
        attempts = 0
        body = self._body(request)
        while True:
            attempts += 1
            try:
                reply = await self._exchange(body)
            except EndpointError as error:
                error.usage = JudgeUsage(attempts=attempts)
                if error.status not in _REFUSED or attempts > _MOST_LESSONS:
                    raise
                self.capabilities.learn(body, request.returns, error.raw_reply or "")
                changed = self._body(request)
                if changed == body:
                    raise
                body = changed
            else:
                return msgspec.structs.replace(reply, usage=msgspec.structs.replace(reply.usage, attempts=attempts))

    def _body(self, request: Request) -> dict[str, Any]:
        able, parameters = self.capabilities, request.parameters
        body: dict[str, Any] = {"model": self._endpoint.model, "messages": request.messages}
        if parameters.temperature is not None and able.temperature:
            body["temperature"] = parameters.temperature
        one_word = bool(words_of(request.returns))
        if one_word:
            body |= {able.token_limit: 1, "logprobs": True, "top_logprobs": _ALTERNATIVES}
        elif parameters.max_tokens is not None:
            body[able.token_limit] = parameters.max_tokens
        response_format = able.response_format(request.returns)
        if response_format is not None:
            body["response_format"] = response_format
        return body | self._extra

    async def _exchange(self, body: dict[str, Any]) -> Reply:
        import aiohttp

        session = await self._sessions.get()
        content = msgspec.json.encode(body)
        try:
            async with session.post(self._url, data=content, headers=self._headers, allow_redirects=False) as response:
                received = await _limited(response)
                status, headers = response.status, response.headers
        except (aiohttp.ClientConnectorCertificateError, aiohttp.InvalidURL) as error:
            raise self._error(f"{self._endpoint.host}: {error}") from None
        except aiohttp.ClientConnectorError as error:
            why = error.os_error.strerror or error.os_error
            raise self._error(f"{self._endpoint.host} can't be reached: {why}", passing=True) from None
        except (aiohttp.ClientError, OSError) as error:
            raise self._error(
                f"{self._endpoint.host} broke the connection ({type(error).__name__})", passing=True
            ) from None
        text = redacted(received.decode("utf-8", "replace"), self._secrets)
        if status == 400 and _FILTERED in text:
            return Reply(text=text, finish="filter")
        if status != 200:
            raise self._refusal(status, headers, text)
        return self._reply(text)

    def _reply(self, text: str) -> Reply:
        try:
            completion = msgspec.json.decode(text, type=_Completion)
        except (msgspec.DecodeError, RecursionError):
            raise self._no_completion(text) from None
        if not completion.choices:
            raise self._no_completion(text)
        choice = completion.choices[0]
        return Reply(
            text=_text(choice.message.refusal) or _text(choice.message.content),
            finish=_finish(choice),
            usage=self._usage(completion.usage),
            alternatives=_alternatives(choice.logprobs),
        )

    def _usage(self, given: Any) -> JudgeUsage:
        used = given if isinstance(given, dict) else {}
        asked, replied = _count(used.get("prompt_tokens")), _count(used.get("completion_tokens"))
        cost = used.get("cost")
        if isinstance(cost, bool) or not isinstance(cost, (int, float)) or not 0 <= cost < math.inf:
            cost = self._price.of(asked, replied) if self._price else None
        return JudgeUsage(calls=1, attempts=1, input_tokens=asked, output_tokens=replied, cost=cost)

    def _no_completion(self, text: str) -> EndpointError:
        """The error of a reply with status 200 that is no completion."""
        if text.lstrip()[:1] == "<":
            return self._error(f"{self._endpoint.host} gave a web page: is base_url right?", raw_reply=text)
        try:
            message, words = _problem(msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError):
            return self._error(f"{self._endpoint.host} gave no valid JSON", passing=True, raw_reply=text)
        return self._error(
            f"{self._endpoint.host} gave no completion: {message}", passing=passing_words(words), raw_reply=text
        )

    def _refusal(self, status: int, headers: Mapping[str, str], text: str) -> EndpointError:
        """The error of a reply with another status than 200."""
        try:
            message, words = _problem(msgspec.json.decode(text))
        except (msgspec.DecodeError, RecursionError):
            message, words = shortened(text), text.casefold()
        passing = status in PASSING and passing_words(words)
        return self._error(
            f"{self._endpoint.host} answered {status}: {message or 'no reason given'}",
            passing=passing,
            status=status,
            retry_after=retry_after(headers),
            raw_reply=text,
        )

    def _error(self, message: str, **details: Any) -> EndpointError:
        return EndpointError(f"{self._endpoint.model}: {redacted(message, self._secrets)}", **details)


async def _session() -> AsyncGenerator[ClientSession]:
    from aiohttp import ClientSession, ClientTimeout, DummyCookieJar, TCPConnector

    proxied = any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") for name in os.environ)
    async with ClientSession(
        connector=TCPConnector(limit=0),
        timeout=ClientTimeout(total=None, connect=30),
        cookie_jar=DummyCookieJar(),
        trust_env=proxied,
    ) as session:
        yield session


async def _limited(response: ClientResponse) -> bytes:
    """The whole body, if it is not absurdly large."""
    chunks, size = [], 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > _MOST_BYTES:
            raise EndpointError(f"the reply is larger than {_MOST_BYTES:,} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


def _text(content: Any) -> str:
    """The text of a message's content: a string, or parts of which the text ones count."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _finish(choice: _Choice) -> Finish:
    if choice.message.refusal:
        return "refusal"
    if choice.finish_reason == "length":
        return "length"
    return "filter" if choice.finish_reason == "content_filter" else "stop"


def _count(given: Any) -> int:
    return given if isinstance(given, int) and given >= 0 else 0  # less would give a budget back what was spent


def _alternatives(logprobs: Any) -> list[tuple[str, float]] | None:
    """The candidates for the first token, where they are given in OpenAI's form."""
    try:
        first = msgspec.convert(logprobs, _Logprobs).content[0]
    except (msgspec.ValidationError, IndexError):
        return None
    return [(each.token, each.logprob) for each in first.top_logprobs or [first]]


def _problem(decoded: Any) -> tuple[str, str]:
    """The endpoint's message in one line, and all its words in lower case to look for known ones."""
    found = decoded[0] if isinstance(decoded, list) and decoded else decoded
    error = found.get("error", found) if isinstance(found, dict) else found
    message = error.get("message", error) if isinstance(error, dict) else error
    return shortened(str(message)), str(error).casefold()


def passing_words(problem: str) -> bool:
    """Whether an endpoint's words leave hope that waiting helps: a used-up quota does not."""
    return not any(word in problem.casefold() for word in _QUOTA)


def shortened(text: str) -> str:
    """The text on one line, cut when it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[:_MOST_SHOWN]}…"


class Headers(Protocol):
    """Headers of an HTTP response; names in any case."""

    def get(self, name: str, /) -> Any:
        """The header's value, or `None`."""
        ...


def retry_after(headers: Headers) -> float | None:
    """The seconds that the endpoint asks to wait, given as milliseconds, seconds or a date."""
    for name, unit in (("Retry-After-Ms", 0.001), ("Retry-After", 1.0)):
        value = headers.get(name)
        if value is None:
            continue
        try:
            return max(0.0, float(value) * unit)
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
        except (ValueError, OverflowError):
            continue
    return None
