"""The pipeline: a scorer of four steps, `preprocess`, `analyze`, `generate_score`, `generate_reason`.

Each step is a function of the run and the results so far, or a `PromptStep` that is asked of the judge. A scorer of
plain functions runs without an event loop.
"""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

import msgspec

from referee.errors import MissingExtraError, OptionError
from referee.execution import Execution, out_of_range, outcome, resolve_judge, step_error
from referee.fingerprint import fingerprint
from referee.jsonvalue import digest
from referee.loops import run_coroutine
from referee.repeats import median_score
from referee.runs import Run
from referee.scores import Score, Unscored
from referee.steps import Asker, FunctionStep, NotScorable, Number, PromptStep, Results

A = TypeVar("A")
P = TypeVar("P")
R = TypeVar("R")


class Finding(msgspec.Struct, frozen=True, gc=False):
    """What a scorer of one function gives when it keeps step results too: the number, its reason and those results."""

    score: float
    reason: str | None
    preprocess_step_result: Any = None
    analyze_step_result: Any = None


#: What a check's one function gives: the number and its reason, a finding, or that there was nothing to evaluate.
Verdict = tuple[float, str | None] | Finding | NotScorable

_STEPS = ("preprocess", "analyze", "generate_score", "generate_reason")


class Scorer(Generic[P, A]):
    """An id, a declared range and four steps. Immutable: each step method gives a new scorer. Holds no result.

    Made by `create_scorer`, by the factories of `referee.checks` and `referee.scorers`, or by `as_scorer`.

    Attributes:
        id: The name under which scores are reported.
        description: What it measures, in one line.
        range: Lowest and highest value it can give. A value outside is an error of the scorer, never a score.
        lower_is_better: Whether a low score is the good one.
        kind: The factory that made it, `custom` for one's own.
        options: The factory's options, as plain data where possible.
        version: Changes whenever kind, options, steps, prompts or model change.
    """

    __slots__ = (
        "_fast",
        "_plain",
        "_synchronous",
        "_version",
        "description",
        "id",
        "judge",
        "kind",
        "lower_is_better",
        "name",
        "options",
        "prepare_run",
        "prompts",
        "range",
        "repeats",
        "steps",
    )

    def __init__(
        self,
        *,
        id: str,
        name: str = "",
        description: str = "",
        range: tuple[float, float] = (0.0, 1.0),
        lower_is_better: bool = False,
        judge: Asker | str | None = None,
        prepare_run: Callable[[Run], Run] | None = None,
        kind: str = "custom",
        options: Mapping[str, Any] | None = None,
        steps: Mapping[str, PromptStep[Any] | FunctionStep] | None = None,
        prompts: Sequence[str] = (),
        repeats: int = 1,
        fast: Callable[[Run], Verdict] | None = None,
    ) -> None:
        if not isinstance(id, str) or not id:
            raise OptionError("a scorer needs an id" if not id else f"the id of a scorer is a text, not {id!r}")
        low, high = range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise OptionError(f"scorer {id}: range must be two finite numbers, the lower one first, not {range}")
        self.id = id
        self.name = name or id
        self.description = description
        self.range = (float(low), float(high))
        self.lower_is_better = lower_is_better
        self.judge = judge
        self.prepare_run = prepare_run
        self.kind = kind
        self.options = dict(options or {})
        self.steps = dict(steps or {})
        self.prompts = tuple(prompts)
        self.repeats = repeats
        self._fast = fast
        self._plain = not lower_is_better and self.range == (0.0, 1.0)
        self._synchronous = all(isinstance(step, FunctionStep) and not step.is_async for step in self.steps.values())
        self._version: str | None = None

    def _with(self, **changes: Any) -> Scorer[Any, Any]:
        fields = {
            name: getattr(self, name)
            for name in (
                "id",
                "name",
                "description",
                "range",
                "lower_is_better",
                "judge",
                "prepare_run",
                "kind",
                "options",
                "steps",
                "prompts",
                "repeats",
            )
        }
        return Scorer(**{**fields, "fast": self._fast, **changes})

    def _with_step(self, name: str, step: Any) -> Scorer[Any, Any]:
        if name in self.steps:
            raise OptionError(f"scorer {self.id}: the step {name} is given twice")
        later = [step for step in self.steps if _STEPS.index(step) > _STEPS.index(name)]
        if later:
            raise OptionError(f"scorer {self.id}: {name} must be given before {later[0]}")
        return self._with(steps={**self.steps, name: step if isinstance(step, PromptStep) else FunctionStep(step)})

    @overload
    def preprocess(self, step: PromptStep[R]) -> Scorer[R, A]: ...
    @overload
    def preprocess(self, step: Callable[[Run, Results[P, A]], Awaitable[R | NotScorable]]) -> Scorer[R, A]: ...
    @overload
    def preprocess(self, step: Callable[[Run, Results[P, A]], R | NotScorable]) -> Scorer[R, A]: ...
    @overload
    def preprocess(self, step: Callable[[Run], R | NotScorable]) -> Scorer[R, A]: ...
    def preprocess(self, step: Any) -> Scorer[Any, Any]:
        """Add the step that takes the run apart: `(run, results)` or `(run)`, sync or async, or a `PromptStep`."""
        return self._with_step("preprocess", step)

    @overload
    def analyze(self, step: PromptStep[R]) -> Scorer[P, R]: ...
    @overload
    def analyze(self, step: Callable[[Run, Results[P, A]], Awaitable[R | NotScorable]]) -> Scorer[P, R]: ...
    @overload
    def analyze(self, step: Callable[[Run, Results[P, A]], R | NotScorable]) -> Scorer[P, R]: ...
    @overload
    def analyze(self, step: Callable[[Run], R | NotScorable]) -> Scorer[P, R]: ...
    def analyze(self, step: Any) -> Scorer[Any, Any]:
        """Add the step that judges the parts."""
        return self._with_step("analyze", step)

    @overload
    def generate_score(self, step: PromptStep[float]) -> Scorer[P, A]: ...
    @overload
    def generate_score(self, step: Callable[[Run, Results[P, A]], Number | Score | NotScorable]) -> Scorer[P, A]: ...
    @overload
    def generate_score(
        self, step: Callable[[Run, Results[P, A]], Awaitable[Number | Score | NotScorable]]
    ) -> Scorer[P, A]: ...
    @overload
    def generate_score(self, step: Callable[[Run], Number | Score | NotScorable]) -> Scorer[P, A]: ...
    @overload
    def generate_score(self, step: Callable[[Run], Awaitable[Number | Score | NotScorable]]) -> Scorer[P, A]: ...
    def generate_score(self, step: Any) -> Scorer[Any, Any]:
        """Add the step that gives the number. A boolean counts as 1 or 0."""
        return self._with_step("generate_score", step)

    @overload
    def generate_reason(self, step: PromptStep[str]) -> Scorer[P, A]: ...
    @overload
    def generate_reason(self, step: Callable[[Run, Results[P, A]], str | None]) -> Scorer[P, A]: ...
    @overload
    def generate_reason(self, step: Callable[[Run, Results[P, A]], Awaitable[str | None]]) -> Scorer[P, A]: ...
    @overload
    def generate_reason(self, step: Callable[[Run], str | None]) -> Scorer[P, A]: ...
    @overload
    def generate_reason(self, step: Callable[[Run], Awaitable[str | None]]) -> Scorer[P, A]: ...
    def generate_reason(self, step: Any) -> Scorer[Any, Any]:
        """Add the step that explains the score, which it finds in `results.score`. Its failure leaves the score in place."""
        return self._with_step("generate_reason", step)

    def with_id(self, id: str) -> Scorer[P, A]:
        """The same scorer under another id."""
        return self._with(id=id)

    def as_kind(self, kind: str, options: Mapping[str, Any], *, prompts: Sequence[str] = ()) -> Scorer[P, A]:
        """The same scorer as the product of a factory: `kind` is its name, `options` its arguments, as plain data.

        Args:
            kind: The factory's short name; `referee.load_scorer` finds it by that name.
            options: The factory's arguments; those that are `None` are left out.
            prompts: The templates of its questions; a change of one is a new version.
        """
        given = {name: value for name, value in options.items() if value is not None}
        return self._with(kind=kind, options=given, prompts=tuple(prompts))

    def with_judge(self, judge: Asker | str | None) -> Scorer[P, A]:
        """The same scorer with this judge, unless it has one of its own."""
        return self if self.judge is not None or judge is None else self._with(judge=judge)

    def with_repeats(self, repeats: int) -> Scorer[P, A]:
        """The same scorer, asking its judge so often about each run; the score is the median (`referee.repeats`).

        Raises:
            OptionError: `repeats` is below 1.
        """
        if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
            raise OptionError(f"scorer {self.id}: repeats must be a whole number of at least 1, not {repeats!r}")
        return self._with(repeats=repeats)

    def judged_by(self, judge: Asker) -> Scorer[P, A]:
        """The same scorer asking this judge in every step, also where it has another one of its own."""
        steps = {
            name: PromptStep(step.source, returns=step.returns, description=step.description)
            if isinstance(step, PromptStep)
            else step
            for name, step in self.steps.items()
        }
        return self._with(judge=judge, steps=steps)

    @property
    def asks_judge(self) -> bool:
        """Whether a step asks a judge."""
        return any(isinstance(step, PromptStep) or step.asks_judge for step in self.steps.values())

    @property
    def needs_judge(self) -> bool:
        """Whether a step asks a judge and neither the step nor the scorer has one of its own."""
        return self.judge is None and any(
            step.asks_judge if isinstance(step, FunctionStep) else step.judge is None for step in self.steps.values()
        )

    @property
    def version(self) -> str:
        """A hash of everything that can change a score: 16 hexadecimal digits."""
        if self._version is None:
            self._version = digest(
                {
                    "kind": self.kind,
                    "options": fingerprint(self.options),
                    "range": self.range,
                    # The steps of a ready-made scorer are named by its kind and prompts; their source may be tidied freely.
                    "steps": fingerprint(self.steps) if self.kind == "custom" else None,
                    "prompts": self.prompts,
                    "repeats": self.repeats,
                    "judge": fingerprint(self.judge),
                    "prepare_run": fingerprint(self.prepare_run),
                }
            )[:16]
        return self._version

    @property
    def fingerprint(self) -> str:
        """The version: what changes when this scorer's meaning changes."""
        return self.version

    @property
    def spec(self) -> Any:
        """This scorer as plain data for `referee.load_scorer`.

        `None` for one that is not made by a factory, or that has an option which is no data, such as a function.
        """
        if self.kind == "custom":
            return None
        try:
            return {self.kind: {**msgspec.to_builtins(self.options, enc_hook=_as_data), "id": self.id}}
        except TypeError:
            return None

    def __repr__(self) -> str:
        return f"<Scorer {self.id}>"

    async def run(self, run: Run, *, judge: Asker | str | None = None) -> Score:
        """Score one run.

        Args:
            run: The run, or any object that `referee.to_run` reads.
            judge: The judge for steps that have none of their own.

        Returns:
            A `Score`. A failing step is an error in the score, not an exception.

        Raises:
            OptionError: The scorer has no `generate_score`, or asks a judge and none can be found.
        """
        if self._fast is not None:
            return self.run_sync(run)
        if type(run) is not Run:
            run = _as_run(run)
        self._require_score_step()
        asker = self._find_judge(judge)
        scorer = self if asker is self.judge else self._with(judge=asker)
        if self.repeats == 1:
            return await Execution(scorer, run, asker).run_async()
        repeats = (Execution(scorer, run, asker, repeat).run_async() for repeat in range(self.repeats))
        return median_score(await asyncio.gather(*repeats))

    def run_sync(self, run: Run, *, judge: Asker | str | None = None) -> Score:
        """`run` for synchronous code; also inside a running event loop. Takes and gives the same."""
        if self._fast is None:
            return self._run_steps(run, judge)
        return self.run_batch((run,))[0]

    def run_batch(self, runs: Sequence[Run], *, judge: Asker | str | None = None) -> list[Score]:
        """`run_sync` on each of some runs; a quick scorer (`is_quick`) is faster on several than on one at a time.

        Args:
            runs: The runs.
            judge: The judge for steps that have none of their own.

        Raises:
            OptionError: As `run` does.

        Example:
            >>> from referee import checks
            >>> [score.score for score in checks.used_no_tools().run_batch([Run(id="r1"), Run(id="r2")])]
            [1.0, 1.0]
        """
        fast, prepare, plain = self._fast, self.prepare_run, self._plain
        if fast is None:
            return [self._run_steps(run, judge) for run in runs]
        own_id, version = self.id, self._version or self.version
        scores: list[Score] = []
        take = scores.append
        # The hot path: a check whose verdict is a number from 0 to 1.
        for run in runs:
            if type(run) is not Run:
                run = _as_run(run)
            try:
                verdict = fast(run if prepare is None else prepare(run))
            except Exception as error:
                take(self._unusual(run, error))
                continue
            if plain and type(verdict) is tuple and 0.0 <= verdict[0] <= 1.0:
                take(Score(run.id, own_id, verdict[0], verdict[1], version))
            elif plain and type(verdict) is Finding and 0.0 <= verdict.score <= 1.0:
                steps = verdict.preprocess_step_result, verdict.analyze_step_result
                take(Score(run.id, own_id, verdict.score, verdict.reason, version, *steps))
            else:
                take(self._unusual(run, verdict))
        return scores

    def _run_steps(self, run: Run, judge: Asker | str | None) -> Score:
        if not self._synchronous:
            return run_coroutine(self.run(run, judge=judge))
        if type(run) is not Run:
            run = _as_run(run)
        self._require_score_step()
        return Execution(self, run, None).run_plain()

    @property
    def is_quick(self) -> bool:
        """Whether it is a single function of ready code, like a check: it takes microseconds and waits for nothing."""
        return self._fast is not None

    @property
    def is_synchronous(self) -> bool:
        """Whether all steps are plain functions, so that no event loop is needed."""
        return self._fast is not None or self._synchronous

    def ready(self, judge: Asker | str | None = None) -> Scorer[P, A]:
        """This scorer with everything found that it needs to run: call it before anything runs.

        Raises:
            OptionError: There is no `generate_score`, or a step asks a judge and none can be found.
        """
        if self._fast is None:
            self._require_score_step()
        found = self._find_judge(judge)
        return self if found is None else self._with(judge=found)

    def _find_judge(self, given: Asker | str | None) -> Asker | None:
        """The scorer's judge, the caller's, or the environment's; looked up only when a step asks one."""
        if self.judge is not None:
            return resolve_judge(self.judge)
        if given is None:
            return resolve_judge(None) if self.needs_judge else None
        try:
            return resolve_judge(given)
        except (OptionError, MissingExtraError):
            if self.needs_judge or self.kind == "custom":  # a step that is not marked may ask too
                raise
            return None

    def _require_score_step(self) -> None:
        if "generate_score" not in self.steps:
            raise OptionError(f"scorer {self.id} has no generate_score step")

    def _unusual(self, run: Run, verdict: Verdict | Exception) -> Score:
        """A check's outcome that is no plain number from 0 to 1."""
        if isinstance(verdict, NotScorable):
            return outcome(self, run, not_scorable=Unscored("generate_score", verdict.reason))
        if isinstance(verdict, Exception):
            return outcome(self, run, error=step_error("generate_score", verdict))
        fields: dict[str, Any] = {}
        if isinstance(verdict, Finding):
            value, reason = verdict.score, verdict.reason
            if verdict.preprocess_step_result is not None:
                fields["preprocess_step_result"] = verdict.preprocess_step_result
            if verdict.analyze_step_result is not None:
                fields["analyze_step_result"] = verdict.analyze_step_result
        else:
            value, reason = verdict
        low, high = self.range
        if not low <= value <= high:
            return outcome(self, run, error=step_error("generate_score", out_of_range(value, self)))
        return outcome(self, run, score=value, reason=reason, **fields)


def create_scorer(
    *,
    id: str,
    description: str = "",
    name: str = "",
    range: tuple[float, float] = (0.0, 1.0),
    lower_is_better: bool = False,
    judge: Asker | str | None = None,
    prepare_run: Callable[[Run], Run] | None = None,
) -> Scorer[None, None]:
    """Start a scorer of your own. Add the steps with its methods, in their order.

    Args:
        id: The name under which scores are reported.
        description: What it measures, in one line.
        name: A title for people; the id when empty.
        range: Lowest and highest value. A number outside is an error of the scorer, not a score.
        lower_is_better: Whether a low score is the good one.
        judge: A `Judge` or a model's name, for steps that ask one.
        prepare_run: Changes the run before the first step; `filter_run` makes such a function.

    Raises:
        OptionError: Empty id, or a range that is none.

    Example:
        >>> from referee.messages import Message, Text
        >>> scorer = (
        ...     create_scorer(id="brief", description="The answer has at most five words.")
        ...     .preprocess(lambda run, results: run.final_text.split())
        ...     .generate_score(lambda run, results: len(results.preprocess_step_result) <= 5)
        ...     .generate_reason(lambda run, results: f"{len(results.preprocess_step_result)} words")
        ... )
        >>> score = scorer.run_sync(Run(id="r", output=[Message("assistant", [Text("It is sunny.")])]))
        >>> score.score, score.reason
        (1.0, '3 words')
    """
    return Scorer(
        id=id,
        name=name,
        description=description,
        range=range,
        lower_is_better=lower_is_better,
        judge=judge,
        prepare_run=prepare_run,
    )


def as_scorer(obj: Any) -> Scorer[Any, Any]:
    """A scorer from a scorer, or from a plain function `(run) -> bool | float | Score`, sync or async.

    The function's name is the id and the first line of its docstring the description.

    Raises:
        OptionError: It is neither.

    Example:
        >>> def polite(run):
        ...     "The answer says please."
        ...     return "please" in run.output_text
        >>> as_scorer(polite)
        <Scorer polite>
    """
    if isinstance(obj, Scorer):
        return obj
    if not callable(obj):
        raise OptionError(f"a scorer is a Scorer or a function of the run, not {type(obj).__name__}")
    name = getattr(obj, "__name__", type(obj).__name__)
    if name == "<lambda>":
        raise OptionError(
            "a lambda has no name to report scores under: use create_scorer(id=...).generate_score(lambda run: ...)"
        )
    description = (inspect.getdoc(obj) or "").split("\n", 1)[0]
    return Scorer(id=name, description=description, steps={"generate_score": FunctionStep(obj)})


def _as_data(option: Any) -> Any:
    """A scorer among the options of another one as its specification."""
    spec = option.spec if isinstance(option, Scorer) else None
    if spec is None:
        raise TypeError(f"{type(option).__name__} is no plain data")
    return spec


def _as_run(obj: Any) -> Run:
    if isinstance(obj, Run):
        return obj
    from referee.formats import to_run

    return to_run(obj)
