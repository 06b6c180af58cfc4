"""One request to a model and its reply, and the shape that everything between the judge and the endpoint has."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import msgspec

from referee.jsonvalue import digest
from referee.prompts import SHOWN_FENCE, Prompt
from referee.scores import JudgeUsage

Finish: TypeAlias = Literal["stop", "length", "refusal", "filter"]


class Parameters(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the model generates. `None` leaves it to the endpoint."""

    temperature: float | None = None
    max_tokens: int | None = None
    extra_body: dict[str, Any] | None = None


class Correction(msgspec.Struct, frozen=True):
    """An earlier reply to the same question, and why it can't be used."""

    reply: str
    problem: str


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One question to a model.

    Attributes:
        model: The model's name as the user wrote it.
        prompt: The question.
        returns: The type of the answer.
        form: What the reply must look like, in words; empty for free text.
        parameters: How the model generates.
        repeat: Which of several independent answers to the same question this is, from 0.
        fence: The random word in the fences of this call.
        correction: Set when the question is asked once more.
    """

    model: str
    prompt: Prompt | str
    returns: Any
    form: str = ""
    parameters: Parameters = Parameters()
    repeat: int = 0
    fence: str = SHOWN_FENCE
    correction: Correction | None = None

    @property
    def text(self) -> str:
        """The whole question as it is sent."""
        if isinstance(self.prompt, str):
            asked = self.prompt.encode("utf-8", "replace").decode()  # a lone surrogate can't be sent
        else:
            asked = self.prompt.render(self.fence)
        return f"{asked}\n\n{self.form}" if self.form else asked

    @property
    def messages(self) -> list[dict[str, str]]:
        """The talk so far: the question, and with a correction the unusable reply and what is wrong with it."""
        talk = [{"role": "user", "content": self.text}]
        if self.correction is not None:
            talk += [
                {"role": "assistant", "content": self.correction.reply},
                {
                    "role": "user",
                    "content": f"This reply can't be used: {self.correction.problem}. Answer once more, correctly.",
                },
            ]
        return talk

    @property
    def key(self) -> str:
        """The question's identity: model, parameters, prompt (without the random fence) and repeat number."""
        asked = [str(self.prompt), self.form]
        return digest([self.model, msgspec.to_builtins(self.parameters), asked, self.repeat])


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a model gave back.

    Attributes:
        text: The reply.
        finish: Why it ended: `stop`, `length` (cut off), `refusal` or `filter`.
        usage: What it cost, all attempts included.
        alternatives: The candidates for the first token with their log-probabilities, where the endpoint gives them.
    """

    text: str
    finish: Finish = "stop"
    usage: JudgeUsage = JudgeUsage(calls=1, attempts=1)
    alternatives: list[tuple[str, float]] | None = None


class Transport(Protocol):
    """Takes a request to a model. The client of an endpoint has this shape, and so has every wrapper around it."""

    async def send(self, request: Request) -> Reply:
        """Send the request.

        Raises:
            JudgeError: There is no reply.
        """
        ...
