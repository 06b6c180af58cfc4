"""The steps of a scorer: functions, prompts for the judge, and what passes between them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from referee.errors import JudgeError, OptionError
from referee.fingerprint import fingerprint
from referee.prompts import Prompt
from referee.runs import Run
from referee.scores import JudgeUsage, Score

P = TypeVar("P")
A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")


class NotScorable(Exception):  # noqa: N818 - an outcome, no error
    """The outcome of a step that found nothing to evaluate. Made by `not_scorable`; may be returned or raised."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def not_scorable(reason: str) -> NotScorable:
    """Say, from any step, that there is nothing to evaluate. Return it or raise it.

    Such a result is no score: it is never averaged and never zero.

    Example:
        >>> from referee import create_scorer
        >>> scorer = create_scorer(id="cites").generate_score(
        ...     lambda run: not_scorable("no documents") if not run.tool_calls else 1.0
        ... )
        >>> scorer.run_sync(Run(id="r")).not_scorable.reason
        'no documents'
    """
    return NotScorable(reason)


class Asker(Protocol):
    """What a step needs of a judge: one method. `referee.judge.Judge` and all its wrappers have this shape."""

    async def ask(self, prompt: Prompt | str, returns: type[T]) -> T:
        """Ask a question and get an answer of the type `returns` (a `msgspec.Struct`, or `str` for free text)."""
        ...


class Consultation:
    """One step's talk with the judge: passes questions on and keeps the prompts and what they cost.

    Args:
        asker: The judge.
        repeat: Which of several independent scores of one run this is, from 0.
    """

    __slots__ = ("asker", "prompts", "repeat", "usage")

    def __init__(self, asker: Asker | None, repeat: int = 0) -> None:
        self.asker = asker
        self.repeat = repeat
        self.prompts: list[str] = []
        self.usage: JudgeUsage | None = None

    async def ask(self, prompt: Prompt | str, returns: type[T]) -> T:
        """Ask the judge. Prompt and usage are kept in the score."""
        if self.asker is None:
            raise JudgeError(
                "this scorer asks a judge and has none: give model= (--model on the command line), or set REFEREE_MODEL"
            )
        self.prompts.append(str(prompt))
        consult = getattr(self.asker, "consult", None)
        if consult is None:
            return await self.asker.ask(prompt, returns)
        try:
            answer, usage = await consult(prompt, returns, repeat=self.repeat)
        except JudgeError as error:
            self._add(error.usage)
            raise
        self._add(usage)
        return cast("T", answer)

    def include(self, score: Score) -> None:
        """Keep what a scorer that ran inside this step asked of its judge."""
        prompts = (
            score.preprocess_prompt,
            score.analyze_prompt,
            score.generate_score_prompt,
            score.generate_reason_prompt,
        )
        self.prompts += [prompt for prompt in prompts if prompt is not None]
        for usage in (score.judge or {}).values():
            self._add(usage)

    def _add(self, usage: JudgeUsage | None) -> None:
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage


#: Asked outside a judged execution: says that there is no judge.
_NOBODY = Consultation(None)


class Results(Generic[P, A]):
    """What the earlier steps of a scorer gave.

    Attributes:
        preprocess_step_result: The result of `preprocess`, `None` without that step.
        analyze_step_result: The result of `analyze`, `None` without that step.
        score: The score, for `generate_reason`.
        judge: Asks the judge from inside a function step: `await results.judge.ask(prompt, Reply)`.
    """

    __slots__ = ("analyze_step_result", "judge", "preprocess_step_result", "score")

    def __init__(self) -> None:
        self.preprocess_step_result: P = cast("P", None)
        self.analyze_step_result: A = cast("A", None)
        self.score: float = math.nan
        self.judge: Consultation = _NOBODY


class PromptStep(Generic[R]):
    """A step that is asked of the judge.

    Args:
        create_prompt: Makes the prompt from the run, or from the run and the results so far. A `Prompt` shows what the agent wrote as
            data inside a fence; in a plain text it can pose as your own words.
        returns: The type of the answer: a `msgspec.Struct`, or `str` for `generate_reason`. For `generate_score`
            `float` asks for a number.
        description: What the step does, for people.
        judge: A judge for this step alone; `None` takes the scorer's.

    Example:
        >>> import msgspec
        >>> from referee import Prompt, create_scorer
        >>> class Tone(msgspec.Struct):
        ...     reason: str
        ...     polite: bool
        >>> step = PromptStep(lambda run: Prompt("Is the answer polite? {answer}", answer=run.final_text), returns=Tone)
        >>> scorer = create_scorer(id="polite").analyze(step).generate_score(
        ...     lambda run, results: results.analyze_step_result.polite
        ... )
        >>> scorer.needs_judge
        True
    """

    __slots__ = ("create_prompt", "description", "judge", "returns", "source")

    def __init__(
        self,
        create_prompt: Callable[[Run, Results[Any, Any]], Prompt | str] | Callable[[Run], Prompt | str],
        *,
        returns: type[R],
        description: str = "",
        judge: Asker | str | None = None,
    ) -> None:
        self.source = create_prompt
        self.create_prompt: Callable[[Run, Results[Any, Any]], Prompt | str] = _of_two(create_prompt)
        self.returns = returns
        self.description = description
        self.judge = judge

    @property
    def fingerprint(self) -> Any:
        """Changes when the prompt's function, the answer's type or the judge does."""
        return [fingerprint(self.source), fingerprint(self.returns), fingerprint(self.judge)]


Number: TypeAlias = float | int | bool


class FunctionStep:
    """A function step: knows how to call it and whether it is asynchronous."""

    __slots__ = ("asks_judge", "call", "is_async", "source")

    def __init__(self, function: Any, *, asks_judge: bool = False) -> None:
        if not callable(function):
            raise OptionError(f"a step is a function or a PromptStep, not {type(function).__name__}")
        self.source = function
        self.call: Callable[[Run, Results[Any, Any]], Any] = _of_two(function)
        self.is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
        self.asks_judge = asks_judge or bool(getattr(function, "asks_judge", False))

    @property
    def fingerprint(self) -> Any:
        """Changes when the function's source does."""
        return fingerprint(self.source)


def asks_judge(function: T) -> T:
    """Mark a function step that asks the judge with `results.judge.ask(...)`, so that a missing judge is found before anything runs."""
    function.asks_judge = True  # type: ignore[attr-defined]
    return function


def _of_two(function: Any) -> Any:
    """The function of the run and the results that stands for a step's function of one or two arguments."""
    return function if _arity(function) == 2 else lambda run, _results: function(run)


def _arity(function: Any) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = [
        parameter for parameter in parameters if parameter.kind in kinds and parameter.default is parameter.empty
    ]
    if len(required) > 2 or any(
        parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty for parameter in parameters
    ):
        raise OptionError(f"a step takes (run) or (run, results), not {inspect.signature(function)}")
    variadic = any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)
    return 2 if len(required) == 2 or variadic else 1
