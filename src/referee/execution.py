"""One scorer at work on one run: calls the steps in order and turns every outcome into a `Score`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import NoneType
from typing import Any, Protocol, TypeVar

from referee.errors import InvalidScoreError, JudgeTimeoutError, OptionError
from referee.loops import run_coroutine
from referee.runs import Run
from referee.scores import JudgeUsage, Score, StepError, Unscored
from referee.steps import Asker, Consultation, FunctionStep, NotScorable, PromptStep, Results

T = TypeVar("T")


class Plan(Protocol):
    """What an execution needs to know of a scorer."""

    @property
    def id(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def range(self) -> tuple[float, float]: ...
    @property
    def lower_is_better(self) -> bool: ...
    @property
    def prepare_run(self) -> Callable[[Run], Run] | None: ...
    @property
    def steps(self) -> Mapping[str, PromptStep[Any] | FunctionStep]: ...


class _Stop(Exception):  # noqa: N818 - ends the loop, is no error
    """Ends an execution early: the outcome is already in its fields."""


class Execution:
    """One scorer at work on one run."""

    __slots__ = ("asker", "fields", "repeat", "results", "run", "scorer", "usage")

    def __init__(self, scorer: Plan, run: Run, asker: Asker | None, repeat: int = 0) -> None:
        self.scorer = scorer
        self.run = run
        self.asker = asker
        self.repeat = repeat
        self.results: Results[Any, Any] = Results()
        self.fields: dict[str, Any] = {}
        self.usage: dict[str, JudgeUsage] = {}

    def run_plain(self) -> Score:
        """Run steps that are all plain functions, without an event loop."""
        try:
            self._prepare()
            for name, step in self.scorer.steps.items():
                assert isinstance(step, FunctionStep)
                try:
                    value = step.call(self.run, self.results)
                    if _is_awaitable(value):
                        value = run_coroutine(awaited(value))
                except NotScorable as nothing:
                    value = nothing
                except Exception as error:
                    self._fail(name, error)
                    continue
                self._accept(name, value)
        except _Stop:
            pass
        return self._score()

    async def run_async(self) -> Score:
        """Run the steps, asking the judge where one is asked."""
        began = asyncio.get_running_loop().time()
        try:
            self._prepare()
            for name, step in self.scorer.steps.items():
                asker = self._asker_of(step)
                consultation = Consultation(asker, self.repeat)
                self.results.judge = consultation
                try:
                    value = await self._in_time(began, asker, self._ask(step, consultation))
                except NotScorable as nothing:
                    value = nothing
                except Exception as error:
                    self._record(name, consultation)
                    self._fail(name, error)
                    continue
                self._record(name, consultation)
                self._accept(name, value)
        except _Stop:
            pass
        return self._score()

    async def _in_time(self, began: float, asker: Asker | None, step: Awaitable[T]) -> T:
        """The step's result; all steps together have as long as the judge says."""
        seconds = getattr(asker, "item_timeout", None)
        return await step if seconds is None else await within(began + seconds, step, seconds)

    async def _ask(self, step: Any, consultation: Consultation) -> Any:
        if isinstance(step, PromptStep):
            return await consultation.ask(step.create_prompt(self.run, self.results), step.returns)
        value = step.call(self.run, self.results)
        return await value if _is_awaitable(value) else value

    def _asker_of(self, step: Any) -> Asker | None:
        own = step.judge if isinstance(step, PromptStep) else None
        return self.asker if own is None else resolve_judge(own)

    def _prepare(self) -> None:
        if self.scorer.prepare_run is None:
            return
        try:
            self.run = self.scorer.prepare_run(self.run)
        except Exception as error:
            self._fail("prepare_run", error)

    def _record(self, name: str, consultation: Consultation) -> None:
        if consultation.prompts:
            self.fields[f"{name}_prompt"] = "\n\n".join(consultation.prompts)
        if consultation.usage is not None:
            self.usage[name] = consultation.usage

    def _fail(self, name: str, error: Exception) -> None:
        if name == "generate_reason":
            self.fields["reason_error"] = step_error(name, error)
            return
        self.fields["error"] = step_error(name, error)
        raise _Stop

    def _accept(self, name: str, value: Any) -> None:
        if isinstance(value, NotScorable):
            if name != "generate_reason":
                self.fields["not_scorable"] = Unscored(name, value.reason)
                raise _Stop
        elif name == "generate_score":
            self._accept_score(value)
        elif name == "generate_reason":
            self.fields["reason"] = None if value is None else str(value)
        else:
            self._keep(name, value)

    def _keep(self, name: str, value: Any) -> None:
        if name == "preprocess":
            self.fields["preprocess_step_result"] = self.results.preprocess_step_result = value
        else:
            self.fields["analyze_step_result"] = self.results.analyze_step_result = value

    def _accept_score(self, value: Any) -> None:
        try:
            if isinstance(value, Score):
                value = self._accept_outcome(value)
            self.fields["score"] = self.results.score = valid_score(value, self.scorer)
        except InvalidScoreError as error:
            self._fail("generate_score", error)

    def _accept_outcome(self, given: Score) -> float | None:
        """The number of a whole score that the step gave, with its reason kept. An error or "not scorable" ends here."""
        if given.reason is not None:
            self.fields["reason"] = str(given.reason)
        if not isinstance(given.details, (dict, NoneType)):
            raise InvalidScoreError(
                f"generate_score gave details that are no object but {type(given.details).__name__}"
            )
        if given.details is not None:
            self.fields["details"] = given.details
        for name in ("error", "not_scorable"):  # either of them beats a number
            if getattr(given, name) is not None:
                self.fields[name] = getattr(given, name)
                raise _Stop
        return given.score

    def _score(self) -> Score:
        if self.usage:
            self.fields["judge"] = self.usage
        return outcome(self.scorer, self.run, **self.fields)


def _is_awaitable(value: Any) -> bool:
    """`inspect.isawaitable` for what functions return; many times faster."""
    return hasattr(type(value), "__await__")


async def within(deadline: float, step: Awaitable[T], seconds: float) -> T:
    """The step's result, unless the deadline passes first, so many seconds after the start.

    Raises:
        JudgeTimeoutError: It passes.
    """
    limit = asyncio.timeout_at(deadline)
    try:
        async with limit:
            return await step
    except TimeoutError:
        if not limit.expired():
            raise
        raise JudgeTimeoutError(f"the answers took longer than {seconds:g} s (item_timeout)") from None


async def awaited(value: Awaitable[T]) -> T:
    """Any awaitable as a coroutine."""
    return await value


def valid_score(value: Any, scorer: Plan) -> float:
    """The value as a float, if it is a finite number in the scorer's range; a boolean is 1 or 0.

    Raises:
        InvalidScoreError: It is not.
    """
    if isinstance(value, bool):
        value = float(value)
    if not isinstance(value, (int, float)):
        try:
            value = float(value.item())  # a NumPy scalar
        except (AttributeError, TypeError, ValueError):
            raise InvalidScoreError(f"generate_score gave {type(value).__name__}, not a number") from None
    low, high = scorer.range
    if not low <= value <= high:
        raise out_of_range(value, scorer)
    return float(value)


def out_of_range(value: float, scorer: Plan) -> InvalidScoreError:
    """The error of a number that the scorer cannot give."""
    low, high = scorer.range
    return InvalidScoreError(f"generate_score gave {value!r}, which is not in the range {low:g} to {high:g}")


def step_error(step: str, error: BaseException) -> StepError:
    """The record of a failed step; of a judge's failure with the raw reply."""
    try:
        message = str(error)
    except Exception:
        message = "the error can't be shown as text"
    if not message and isinstance(error, asyncio.CancelledError):
        message = "it was cancelled from inside"
    return StepError(step, type(error).__name__, message, getattr(error, "raw_reply", None))


def outcome(scorer: Plan, run: Run, **fields: Any) -> Score:
    """A `Score` with the scorer's and the run's identity filled in."""
    return Score(
        run.id,
        scorer.id,
        scorer_version=scorer.version,
        range=scorer.range,
        lower_is_better=scorer.lower_is_better,
        **fields,
    )


def resolve_judge(judge: Asker | str | None) -> Asker:
    """The judge itself, or the one that a model's name or the environment (`REFEREE_MODEL`) stands for.

    Raises:
        OptionError: `None`, and `REFEREE_MODEL` is not set; or it is neither.
    """
    if judge is None or isinstance(judge, str):
        from referee.judge import judge_for

        return judge_for(judge)
    if not callable(getattr(judge, "ask", None)):
        hint = " (Judge(model) makes a judge of it)" if callable(getattr(judge, "send", None)) else ""
        raise OptionError(f"a judge is a Judge or a model's name, not {type(judge).__name__}{hint}")
    return judge
