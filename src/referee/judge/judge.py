"""The judge: a language model that answers questions in a given form."""

from __future__ import annotations

import secrets
import time
from typing import Any, TypeVar

import msgspec

from referee.judge.correcting import Correcting
from referee.judge.exchange import Parameters, Request, Transport
from referee.judge.forms import form
from referee.judge.reading import read
from referee.prompts import Prompt
from referee.scores import JudgeUsage

T = TypeVar("T")


class Judge:
    """A language model that answers questions in a given form. Any number of scorers may share one."""

    def __init__(
        self,
        model: str | Transport | None = None,
        *,
        temperature: float | None = 0.0,
        max_tokens: int | None = 4096,
        item_timeout: float | None = 600.0,
    ) -> None:
        assert model is not None
        assert not isinstance(model, str)
        self.model: str = getattr(model, "name", type(model).__name__)
        self.parameters = Parameters(temperature, max_tokens)
        self.item_timeout = item_timeout
        self._transport: Transport = Correcting(model)

    @property
    def fingerprint(self) -> Any:
        """What can change an answer: the model's name and its parameters."""
        return [self.model, msgspec.to_builtins(self.parameters)]

    def __repr__(self) -> str:
        return f"<Judge {self.model}>"

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
        usage = msgspec.structs.replace(
            reply.usage, model=self.model, duration_ms=round((time.perf_counter() - began) * 1000, 3)
        )
        return read(reply, returns), usage
