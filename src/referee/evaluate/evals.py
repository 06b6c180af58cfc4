"""`run_evals`: an agent on a data set, scored."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import fields
from types import NoneType
from typing import Any, Unpack, overload

import msgspec

from referee.errors import OptionError
from referee.evaluate.hooks import NO_HOOKS, Hooks, call_hook, hook_failure
from referee.evaluate.mocks import Unmocked
from referee.evaluate.options import EvalOptions, Resume
from referee.evaluate.plan import Plan, make_plan
from referee.evaluate.report import Report, SideBySide
from referee.evaluate.runner import Runner, Settings
from referee.evaluate.summary import failed
from referee.journal import Journal, Ledger
from referee.loops import run_coroutine
from referee.results import ItemResult, ResultKey
from referee.steps import Asker


@overload
async def run_evals(*, target: Any = None, targets: None = None, **options: Unpack[EvalOptions]) -> Report: ...
@overload
async def run_evals(*, targets: Mapping[str, Any], **options: Unpack[EvalOptions]) -> SideBySide: ...
async def run_evals(
    *,
    target: Any = None,
    targets: Mapping[str, Any] | None = None,
    data: Iterable[Any] | None = None,
    scorers: Any = (),
    gates: Any = (),
    repeats: int | None = None,
    concurrency: int = 4,
    model: Asker | str | None = None,
    target_options: Mapping[str, Any] | None = None,
    unmocked_tools: Unmocked = "allow",
    item_timeout: float | None = None,
    timeout: float | None = None,
    hooks: Hooks | None = None,
    on_item_complete: Callable[[ItemResult], Any] | None = None,
    journal: str | os.PathLike[str] | Ledger | None = None,
    resume: Resume = False,
    fail_fast: bool = False,
    confidence: float = 0.95,
    name: str = "",
) -> Report | SideBySide:
    """Ask a target every item of a data set and score what it does.

    A failing target or scorer is an error of its item; the others go on and the report is always returned. When the
    task is cancelled, what was finished stays in the journal.

    Args:
        target: What is asked: a function `(input) -> text | messages | Run`, sync or async; an agent of Pydantic AI,
            the OpenAI Agents SDK, LangGraph or LangChain; `RecordedRuns`, `HttpTarget` or `CommandTarget`. Left out
            when `data` is a list of recorded runs.
        targets: Several of them by name, side by side.
        data: Items, mappings with an item's fields, plain inputs, or recorded runs.
        scorers: A list of scorers, or groups `{agent: [...], trajectory: [...], workflow: [...], steps: {step: [...]}}`.
            An entry is a scorer, a function of the run, a name for `load_scorer`, or
            `{"scorer": ..., "threshold": ..., "min_coverage": ...}`. A threshold is a number (the least mean) or
            `{"min", "max", "confidence", "min_coverage"}`.
        gates: The same, for what every item must hold: a score of 1, or what
            `{"scorer": ..., "min": ..., "max": ..., "passes": "4 of 5"}` says.
        repeats: How often each item is run; `None`: once, or as often as it was recorded.
        concurrency: How many items are asked at once.
        model: The judge, or its model's name, for scorers that have none.
        target_options: Handed to the target with every call.
        unmocked_tools: `deny` makes calls of tools without a mock fail; see `Item.tool_mocks`.
        item_timeout: Seconds for one item, target and scorers together. Then it is an error.
        timeout: Seconds for everything. Items that are not finished then are errors.
        hooks: Functions before and after the run and each item.
        on_item_complete: Called, sync or async, with every finished `ItemResult`.
        journal: A file to which every finished item is written at once, or another `Ledger`.
        resume: Go on with what the journal holds: `True` runs what is missing or has an error, `"failed"` also what
            did not pass. An answer that is there is not asked for again: only missing scores are taken.
        fail_fast: Start no further item once one has an error or does not pass.
        confidence: Of the intervals in the report.
        name: Of the evaluation, for people.

    Returns:
        A `Report`; with `targets` a `SideBySide` of reports by name.

    Raises:
        OptionError: Something is wrong with the arguments; nothing was run.

    Example:
        >>> import asyncio
        >>> from referee import checks
        >>> report = asyncio.run(run_evals(
        ...     target=lambda question: "It is sunny.",
        ...     data=[{"input": "Weather in Ghent?"}, {"input": "Weather in Bruges?"}],
        ...     gates=[checks.includes("sunny")],
        ... ))
        >>> report.verdict, report.summary["check-includes"].mean
        ('passed', 1.0)
    """
    _check_options(name, hooks, on_item_complete, journal, resume)
    plan = make_plan(
        target=target,
        targets=targets,
        data=data,
        scorers=scorers,
        gates=gates,
        repeats=repeats,
        target_options=target_options,
        unmocked_tools=unmocked_tools,
        model=model,
        name=name,
        confidence=confidence,
    )
    settings = Settings(
        concurrency=_positive_count(concurrency),
        item_timeout=_seconds(item_timeout, "item_timeout"),
        timeout=_seconds(timeout, "timeout"),
        hooks=hooks or NO_HOOKS,
        on_item_complete=on_item_complete,
        stop_when=(lambda result: failed(result, plan.evaluation.measures)) if fail_fast else None,
    )
    with _opened(journal, resume) as opened:
        return await _run(plan, settings, opened, resume, side_by_side=targets is not None)


@overload
def run_evals_sync(*, target: Any = None, targets: None = None, **options: Unpack[EvalOptions]) -> Report: ...
@overload
def run_evals_sync(*, targets: Mapping[str, Any], **options: Unpack[EvalOptions]) -> SideBySide: ...
def run_evals_sync(**arguments: Any) -> Report | SideBySide:
    """`run_evals` for synchronous code; also inside a running event loop. Takes and gives the same."""
    report: Report | SideBySide = run_coroutine(run_evals(**arguments))
    return report


run_evals_sync.__signature__ = inspect.signature(run_evals)  # type: ignore[attr-defined]


def _check_options(name: Any, hooks: Any, on_item_complete: Any, journal: Any, resume: Any) -> None:
    """Refuse what would fail, or mean nothing, only after items were asked."""
    if not isinstance(name, str):
        raise OptionError(f"name is a text, not {type(name).__name__}")
    if not isinstance(hooks, (Hooks, NoneType)):
        raise OptionError(f"hooks is a Hooks(before_run=..., ...), not {type(hooks).__name__}")
    functions = {} if hooks is None else {field.name: getattr(hooks, field.name) for field in fields(hooks)}
    for what, function in {**functions, "on_item_complete": on_item_complete}.items():
        if function is not None and not callable(function):
            raise OptionError(f"{what} is a function, not {type(function).__name__}")
    if not isinstance(journal, (str, os.PathLike, Ledger, NoneType)):
        raise OptionError(f"journal is a file's name, not {type(journal).__name__}")
    if resume not in (True, False, "failed"):
        raise OptionError(f"resume is True, False or 'failed', not {resume!r}")
    if resume and journal is None:
        raise OptionError("resume needs a journal")


def _opened(journal: str | os.PathLike[str] | Ledger | None, resume: Resume) -> AbstractContextManager[Ledger | None]:
    if journal is None or isinstance(journal, Ledger):
        return nullcontext(journal)
    return Journal(journal, resume=bool(resume))


async def _run(
    plan: Plan, settings: Settings, journal: Ledger | None, resume: Resume, *, side_by_side: bool
) -> Report | SideBySide:
    plan, known = _continued(plan, journal, resume)
    await call_hook(settings.hooks.before_run, plan.evaluation)
    runner = Runner(plan, settings, journal, known)
    await runner.run()
    reports = {
        target: Report(plan.evaluation, runner.results, objects=plan.objects, target=target) for target in plan.targets
    }
    report = SideBySide(reports) if side_by_side else reports[""]
    failure = await hook_failure("after_run", settings.hooks.after_run, report)
    if failure is not None:
        for entry in reports.values():
            entry.hook_errors.append(failure)
    return report


def _continued(plan: Plan, journal: Ledger | None, resume: Resume) -> tuple[Plan, dict[ResultKey, ItemResult]]:
    """The plan under the journal's evaluation id, written to the journal, and the results that need not be run."""
    if journal is None:
        return plan, {}
    earlier = journal.evaluation
    evaluation = plan.evaluation
    if earlier is not None:
        evaluation = msgspec.structs.replace(evaluation, id=earlier.id, created_at=earlier.created_at)
        plan = Plan(evaluation, plan.targets, plan.measures, plan.items, plan.options, plan.unmocked_tools)
    if evaluation != earlier:
        try:
            journal.append(evaluation)
        except OSError as error:
            raise OptionError(f"the journal can't be written: {error.strerror}") from None
    known = journal.results
    if resume == "failed":
        known = {key: result for key, result in known.items() if not failed(result, evaluation.measures)}
    return plan, dict(known)


def _positive_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptionError(f"concurrency must be a whole number of at least 1, not {value!r}")
    return value


def _seconds(value: Any, what: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        raise OptionError(f"{what} is a number of seconds above 0, not {value!r}")
    return float(value)
