"""The measures of an item taken on its run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from referee.evaluate.answers import input_messages
from referee.evaluate.measures import Applied
from referee.evaluate.threads import DeadlineError, in_thread, is_failure, within
from referee.execution import outcome, step_error
from referee.messages import Message, Text
from referee.pipeline import Scorer
from referee.runs import Run, with_id
from referee.scores import Score, StepError, Unscored
from referee.trajectory import Step, Trajectory

_INPUT_FIELDS = ("input", "payload", "tool_args")
_OUTPUT_FIELDS = ("output", "result", "tool_result")


class Scoring:
    """Scores runs until a deadline.

    Args:
        deadline: The point in the loop's time at which a scorer that still works is an error.
        time_limit: What its error says.
    """

    def __init__(self, deadline: float | None, time_limit: str) -> None:
        self.deadline = deadline
        self.time_limit = time_limit

    async def score(self, run: Run, measures: Sequence[Applied], known: Mapping[str, Score]) -> dict[str, Score]:
        """The scores by the measures' ids, in their order; those that are known and still hold are taken over."""
        scores: dict[str, Score | None] = {}
        waiting: list[Applied] = []
        for applied in measures:
            name = applied.measure.id
            scores[name] = _still_holds(known.get(name), applied)
            if scores[name] is None:
                waiting.append(applied)
        found = await asyncio.gather(*(self._one(applied, run) for applied in waiting))
        scores.update((applied.measure.id, score) for applied, score in zip(waiting, found))
        return scores  # type: ignore[return-value]

    async def _one(self, applied: Applied, run: Run) -> Score:
        scorer, step = applied.scorer, applied.measure.step
        try:
            of_step = run if step is None else step_run(run, step)
            if of_step is None:
                return outcome(scorer, run, not_scorable=Unscored("preprocess", f"the run has no step {step!r}"))
            return await self._scored(scorer, of_step)
        except DeadlineError:
            return outcome(scorer, run, error=StepError("deadline", "TimeoutError", self.time_limit))
        except BaseException as error:  # a scorer may fail in any way, and only its score with it
            if not is_failure(error):
                raise
            return outcome(scorer, run, error=step_error("scorer", error))

    async def _scored(self, scorer: Scorer[Any, Any], run: Run) -> Score:
        if not scorer.is_synchronous:
            return await within(scorer.run(run), self.deadline)
        if not _calls_own_code(scorer):
            return scorer.run_sync(run)
        # A function of the user's own may block: in a thread it holds up nobody and the deadline still counts.
        return await within(in_thread(lambda: scorer.run_sync(run)), self.deadline)


def _calls_own_code(value: Any) -> bool:
    """Whether a scorer, or an option of one, calls functions of the user's own: a matcher, a part of a joined check."""
    if isinstance(value, Scorer):
        return value.kind == "custom" or value.prepare_run is not None or _calls_own_code(value.options)
    if isinstance(value, Mapping):
        return any(map(_calls_own_code, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_calls_own_code, value))
    return callable(value)


def _still_holds(score: Score | None, applied: Applied) -> Score | None:
    if score is None or score.error is not None or score.scorer_version != applied.scorer.version:
        return None
    return score


def failed_scores(measures: Iterable[Applied], error: StepError) -> dict[str, Score]:
    """The scores of measures that have no run to score, because the target failed."""
    return {applied.measure.id: outcome(applied.scorer, Run(), error=error) for applied in measures}


def step_run(run: Run, name: str) -> Run | None:
    """A workflow step as a run of its own: its input, its output and the steps inside it.

    Example:
        >>> from referee.trajectory import Trajectory
        >>> draft = Step(name="draft", step_type="workflow_step", fields={"input": "Ghent", "output": "Sunny."})
        >>> step_run(Run(trajectory=Trajectory(steps=[draft])), "draft").output_text
        'Sunny.'
    """
    step = _find(run.trajectory.steps, name) if run.trajectory is not None else None
    if step is None:
        return None
    given, gave = (_first(step.fields, names) for names in (_INPUT_FIELDS, _OUTPUT_FIELDS))
    return with_id(
        Run(
            id=f"{run.id}/{name}" if run.id else "",
            input=[] if given is None else input_messages(given),
            output=[] if gave is None else _spoken(input_messages(gave)),
            ground_truth=run.ground_truth,
            context=run.context,
            metadata=run.metadata,
            trajectory=Trajectory(steps=step.children, total_duration_ms=step.duration_ms),
            duration_ms=step.duration_ms,
        )
    )


def _find(steps: Iterable[Step], name: str) -> Step | None:
    """The first step with this name, outer ones before inner ones."""
    level = list(steps)
    while level:
        for step in level:
            if step.name == name:
                return step
        level = [child for step in level for child in step.children]
    return None


def _first(fields: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _spoken(messages: list[Message]) -> list[Message]:
    """Plain data as what the assistant says; messages as they are."""
    if len(messages) == 1 and messages[0].role == "user" and all(type(part) is Text for part in messages[0].parts):
        return [msgspec.structs.replace(messages[0], role="assistant")]
    return messages
