"""A run: what an agent did once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import msgspec

from referee import extract
from referee.jsonvalue import digest
from referee.messages import Message, ToolCall
from referee.text import fold
from referee.trajectory import Trajectory

#: Which text of the answer a check reads: all assistant messages, or the final answer alone.
Scope: TypeAlias = Literal["all", "final"]

T = TypeVar("T")


class _Lazy(Generic[T]):
    """A value worked out at the first access and kept on the instance (no lock, unlike `functools.cached_property`)."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.__doc__ = compute.__doc__
        self.name = compute.__name__

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        value = self.compute(instance)
        instance.__dict__[self.name] = value
        return value


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Tokens that the agent's models used. `None` where the source does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None

    @property
    def total(self) -> int | None:
        """The total the source states, else input plus output, else `None`."""
        if self.total_tokens is not None:
            return self.total_tokens
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return self.input_tokens + self.output_tokens


class Run(msgspec.Struct, frozen=True, kw_only=True, dict=True, omit_defaults=True):
    """One recorded execution of an agent. Scorers see nothing else.

    What a format cannot express is `None`, never invented.

    Attributes:
        id: The source's id; else the SHA-256 of the run's content.
        input: This turn's messages.
        history: Remembered messages from before.
        system: System messages.
        output: The messages that the agent produced.
        ground_truth: The right answer, if the data set has one.
        expected_trajectory: The expected steps, as plain data.
        expected_tool_calls: The expected tool calls, as plain data.
        context: The request context of the application.
        metadata: Anything else that the source says.
        trajectory: Recorded steps (spans), where the source has more than messages.
        thread_id, trace_id, span_id: Where the run belongs.
        started_at: ISO 8601 time.
        duration_ms: Wall time in milliseconds.
        usage: Tokens.
        cost: US dollars.
        model: The agent's model.
        warnings: What the reader noticed, one sentence each: a result without a call, arguments that are no JSON.

    Example:
        >>> from referee.messages import Text
        >>> run = Run(id="r1", input=[Message("user", [Text("Weather?")])], output=[Message("assistant", [Text("Sunny.")])])
        >>> run.user_text, run.output_text, run.tool_calls
        ('Weather?', 'Sunny.', ())
    """

    id: str = ""
    input: list[Message] = []
    history: list[Message] = []
    system: list[Message] = []
    output: list[Message] = []
    ground_truth: Any = None
    expected_trajectory: Any = None
    expected_tool_calls: Any = None
    context: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    trajectory: Trajectory | None = None
    thread_id: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    started_at: str | None = None
    duration_ms: float | None = None
    usage: Usage | None = None
    cost: float | None = None
    model: str | None = None
    warnings: list[str] = []

    @_Lazy
    def output_text(self) -> str:
        """The texts of all assistant messages of the output, joined by a newline (scope `all`)."""
        return extract.assistant_text(self.output)

    @_Lazy
    def final_text(self) -> str:
        """The final answer (scope `final`): the last assistant text, without what was said before its last tool call."""
        return extract.final_text(self.output)

    @_Lazy
    def input_text(self) -> str:
        """The texts of the user messages of `input`, joined by a newline."""
        return extract.user_texts(self.input)

    @_Lazy
    def user_text(self) -> str:
        """The text of the first user message of `input`."""
        return extract.first_user_text(self.input)

    @_Lazy
    def invocations(self) -> tuple[ToolCall, ...]:
        """Every tool invocation of the output, partial and unknown ones included."""
        return extract.invocations(self.output)

    @_Lazy
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the output, in order: with a name, and in state `result`, `error` or `call`."""
        return extract.tool_calls(self.invocations)

    @_Lazy
    def tool_names(self) -> tuple[str, ...]:
        """The names of `tool_calls`, in order."""
        return tuple([call.name for call in self.tool_calls])

    @_Lazy
    def _folded_text(self) -> str:
        return fold(self.output_text)

    @_Lazy
    def _caseless_text(self) -> str:
        return self._folded_text.casefold()

    @_Lazy
    def _final_answers(self) -> dict[tuple[bool, bool], str]:
        return {}

    def answer(self, scope: Scope = "all", *, normalize: bool = True, ignore_case: bool = True) -> str:
        """The answer's text, folded once for all the checks that read it.

        Args:
            scope: `all` assistant messages, or the `final` answer.
            normalize: Fold typography and Unicode forms (`referee.text.fold`).
            ignore_case: Fold case with `str.casefold`.
        """
        if scope == "all":
            if normalize:
                return self._caseless_text if ignore_case else self._folded_text
            return self.output_text.casefold() if ignore_case else self.output_text
        text = self._final_answers.get((normalize, ignore_case))
        if text is None:
            text = fold(self.final_text) if normalize else self.final_text
            text = text.casefold() if ignore_case else text
            self._final_answers[normalize, ignore_case] = text
        return text


def prime(run: Run, output_text: str, tool_calls: tuple[ToolCall, ...]) -> None:
    """Tell a run what a reader already knows of its output, so that it need not be worked out again.

    Args:
        run: The run.
        output_text: Its `output_text`.
        tool_calls: Its `invocations`, all of which are calls.
    """
    known = run.__dict__
    known["output_text"] = output_text
    known["invocations"] = known["tool_calls"] = tool_calls


def content_id(run: Run) -> str:
    """The SHA-256 of a run's content, the id of a run whose source gives none.

    Example:
        >>> content_id(Run(id="a")) == content_id(Run(id="b"))
        True
    """
    if run.id or run.warnings:  # how a run was recorded or read is not what it is; fields of default value are left out
        run = msgspec.structs.replace(run, id="", warnings=[])
    return digest(run)


def with_id(run: Run) -> Run:
    """The run itself when it has an id, else a copy with its content's id."""
    return run if run.id else msgspec.structs.replace(run, id=content_id(run))
