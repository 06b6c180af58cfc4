"""A model that replies from a script, for tests and examples."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec

from referee.errors import OptionError
from referee.judge.exchange import Reply, Request

#: What a script may hold: a text, plain data or a struct (sent as JSON), a whole `Reply`, or an exception to raise.
Scripted: TypeAlias = Any


class ScriptedModel:
    """A model whose replies are given beforehand, failures too. Nothing is sent anywhere.

    Args:
        replies: A list of replies, given in order, the last one again and again; or a function of the `Request`. A reply
            is a text, plain data or a struct (as JSON), a `Reply`, or an exception, which is raised.
        name: The model's name in scores.
        delay: Seconds before each reply.

    Attributes:
        requests: What was asked, in order.

    Example:
        >>> from referee import scorers
        >>> from referee.judge import Judge
        >>> from referee.testing import create_agent_test_run
        >>> model = ScriptedModel([
        ...     {"claims": ["The museum is free on Sunday."]},
        ...     {"verdicts": [{"id": "c1", "reason": "The page says so.", "verdict": "yes"}]},
        ...     {"reason": "The one claim is supported."},
        ... ])
        >>> scorer = scorers.create_faithfulness_scorer(Judge(model), context=["Sundays: free entry."])
        >>> score = scorer.run_sync(create_agent_test_run(input_messages="Price?", output="It is free on Sunday."))
        >>> score.score, score.reason, len(model.requests)
        (1.0, 'The one claim is supported.', 3)
    """

    def __init__(
        self, replies: Iterable[Scripted] | Callable[[Request], Scripted], *, name: str = "scripted", delay: float = 0.0
    ) -> None:
        self.name = name
        self.requests: list[Request] = []
        self._delay = delay
        self._lock = threading.Lock()
        if callable(replies):
            self._reply: Callable[[Request], Scripted] = replies
        else:
            script = list(replies)
            if not script:
                raise OptionError("a scripted model needs at least one reply")
            self._reply = lambda _request: script[min(len(self.requests), len(script)) - 1]

    @property
    def fingerprint(self) -> str:
        """The name: a script has no parameters."""
        return self.name

    async def send(self, request: Request) -> Reply:
        """Give the next reply.

        Raises:
            Exception: The script says so.
        """
        if self._delay:
            await asyncio.sleep(self._delay)
        with self._lock:
            self.requests.append(request)
            reply = self._reply(request)
        if isinstance(reply, BaseException):
            raise reply
        if isinstance(reply, Reply):
            return reply
        return Reply(text=reply if isinstance(reply, str) else msgspec.json.encode(reply).decode())
