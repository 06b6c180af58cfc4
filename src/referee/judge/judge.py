"""The judge: a language model that answers questions in a given form."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from referee.errors import OptionError
from referee.judge.budget import Budget, Budgeted
from referee.judge.cache import Cache, Cached
from referee.judge.clients import Client, client_for
from referee.judge.correcting import Correcting
from referee.judge.exchange import Parameters, Request, Transport
from referee.judge.forms import form
from referee.judge.limits import Limited, Limits
from referee.judge.numbers import require_number
from referee.judge.prices import Price
from referee.judge.reading import read
from referee.judge.retry import Retrying, Timed
from referee.prompts import Prompt
from referee.scores import JudgeUsage

T = TypeVar("T")


class Judge:
    """A language model that answers questions in a given form. Any number of scorers, threads and event loops may share one.

    A request goes through a row of wrappers of one shape: cache, second try after an unreadable reply, retries after
    passing errors, budget, limits, time-out, and then to the client of the endpoint.

    Args:
        model: `provider/model` or `provider:model`; any name with `base_url`; a `ScriptedModel` or another transport;
            `None` takes `REFEREE_MODEL`.
        base_url: The address of an OpenAI-compatible endpoint.
        api_key: The key; otherwise the provider's variable, such as `OPENAI_API_KEY`.
        temperature: How freely the model words its reply; `None` leaves it to the endpoint. Left out for models that
            refuse it.
        max_tokens: The longest reply; `None` leaves it to the endpoint.
        timeout: Seconds for one attempt.
        item_timeout: Seconds for one scorer on one run, all its questions and retries included; `None` sets no limit.
        retries: How often a request is sent again after an error that may pass.
        limits: Requests at once and a minute. Give one `Limits` to several judges to share it.
        cache: A file, or a `Cache`, that keeps replies.
        budget: The most that may be spent.
        price: The model's price, where the public list (extra `prices`) does not know it.
        extra_body: Further fields for every request to an OpenAI-compatible endpoint.

    Raises:
        OptionError: No model, a wrong name or address, a missing key, or an option out of its range.
        MissingExtraError: The package that the model needs is not installed.

    Example:
        >>> import asyncio
        >>> import msgspec
        >>> from referee.judge import ScriptedModel
        >>> class Tone(msgspec.Struct):
        ...     reason: str
        ...     polite: bool
        >>> judge = Judge(ScriptedModel(['{"reason": "It says please.", "polite": true}']))
        >>> asyncio.run(judge.ask("Is this polite: Please wait.", Tone))
        Tone(reason='It says please.', polite=True)
    """

    def __init__(
        self,
        model: str | Transport | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        temperature: float | None = 0.0,
        max_tokens: int | None = 4096,
        timeout: float = 120.0,
        item_timeout: float | None = 600.0,
        retries: int = 4,
        limits: Limits | None = None,
        cache: Cache | str | Path | None = None,
        budget: Budget | None = None,
        price: Price | None = None,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        require_number("judge: timeout", timeout, above=0)
        require_number("judge: item_timeout", item_timeout, above=0)
        require_number("judge: max_tokens", max_tokens, least=1, whole=True)
        require_number("judge: retries", retries, least=0, whole=True)
        require_number("judge: temperature", temperature, least=0)
        _require_kinds(limits=(limits, Limits), budget=(budget, Budget), price=(price, Price))
        _require_kinds(cache=(cache, (Cache, str, Path)), extra_body=(extra_body, Mapping))
        client = client_for(model, base_url=base_url, api_key=api_key, price=price, extra_body=extra_body)
        self.model = client.name
        self.parameters = Parameters(temperature, max_tokens, dict(extra_body) if extra_body else None)
        self.item_timeout = item_timeout
        self.limits = limits or Limits()
        self.budget = budget
        self.cache = Cache(cache) if isinstance(cache, (str, Path)) else cache
        self.price = client.price
        self._client = client
        self._transport = self._wrapped(client, timeout, retries)

    def _wrapped(self, client: Client, timeout: float, retries: int) -> Transport:
        transport: Transport = Limited(client.ready(Timed(client.transport, timeout)), self.limits)
        if self.budget is not None:
            transport = Budgeted(transport, self.budget, client.price)
        transport = Correcting(Retrying(transport, retries))
        return transport if self.cache is None else Cached(transport, self.cache)

    @property
    def fingerprint(self) -> Any:
        """What can change an answer: the model's name and its parameters."""
        return [self.model, msgspec.to_builtins(self.parameters)]

    def __repr__(self) -> str:
        return f"<Judge {self.model}>"

    async def close(self) -> None:
        """Close the connections of the running event loop, and the cache. Both open again when they are needed."""
        await self._client.close()
        if self.cache is not None:
            self.cache.close()

    async def ask(self, prompt: Prompt | str, returns: type[T]) -> T:
        """Ask a question.

        Args:
            prompt: The question.
            returns: The type of the answer: a `msgspec.Struct`, `float`, `int`, `bool`, or `str` for free text.

        Raises:
            JudgeError: There is no usable answer. Its subclasses say why.
        """
        answer, _ = await self.consult(prompt, returns)
        return answer

    async def consult(self, prompt: Prompt | str, returns: type[T], *, repeat: int = 0) -> tuple[T, JudgeUsage]:
        """Ask a question; give the answer and what it cost.

        Args:
            prompt: The question.
            returns: The type of the answer.
            repeat: Which of several independent answers to one question is wanted, from 0.

        Raises:
            JudgeError: There is no usable answer. Its `usage` says what was spent.
        """
        request = Request(
            model=self.model,
            prompt=prompt,
            returns=returns,
            form=form(returns),
            parameters=self.parameters,
            repeat=repeat,
            fence=secrets.token_hex(4),
        )
        began = time.perf_counter()
        reply = await self._transport.send(request)
        duration = round((time.perf_counter() - began) * 1000, 3)
        return read(reply, returns), msgspec.structs.replace(reply.usage, model=self.model, duration_ms=duration)


def _require_kinds(**options: tuple[Any, Any]) -> None:
    """Refuse an option that is given and not of its kind."""
    for name, (value, kinds) in options.items():
        if value is not None and not isinstance(value, kinds):
            listed = kinds if isinstance(kinds, tuple) else (kinds,)
            raise OptionError(f"judge: {name} must be a {' or '.join(kind.__name__ for kind in listed)}, not {value!r}")
