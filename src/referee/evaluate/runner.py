"""The engine: asks the targets, takes the measures, and gives one result per item, target and repeat.

It knows no store. A failing target or scorer is an error of its item alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

import msgspec

from referee.evaluate.conversation import Conversation, Played
from referee.evaluate.hooks import NO_HOOKS, Hooks, hook_failure
from referee.evaluate.measures import Applied
from referee.evaluate.mocks import mocks_of
from referee.evaluate.plan import Plan, PlannedItem
from referee.evaluate.scoring import Scoring, failed_scores
from referee.execution import step_error
from referee.formats import FORMATS, get_format
from referee.journal import Ledger
from referee.results import ItemResult, Judged, ResultKey, TurnResult
from referee.runs import Run
from referee.scores import Score, StepError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How an evaluation runs.

    Attributes:
        concurrency: How many items are asked at once.
        item_timeout: Seconds for one item, target and scorers together.
        timeout: Seconds for everything.
        hooks: Functions around the evaluation and its items.
        on_item_complete: Receives every finished result.
        stop_when: The first result for which it is true is the last one that is started.
    """

    concurrency: int = 4
    item_timeout: float | None = None
    timeout: float | None = None
    hooks: Hooks = NO_HOOKS
    on_item_complete: Callable[[ItemResult], Any] | None = None
    stop_when: Callable[[ItemResult], bool] | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One item on one target, once."""

    planned: PlannedItem
    target: str
    repeat: int

    @property
    def key(self) -> ResultKey:
        """What makes its result unique."""
        return (self.target, self.planned.item.id, self.repeat)


class Runner:
    """Runs a plan.

    Args:
        plan: What is run.
        settings: How.
        journal: Where finished results are written at once; `None`: nowhere.
        known: Results of an earlier run, to be taken over where they still hold.
    """

    def __init__(
        self, plan: Plan, settings: Settings, journal: Ledger | None, known: Mapping[ResultKey, ItemResult]
    ) -> None:
        self.plan = plan
        self.settings = settings
        self.journal = journal
        self.known = known
        self.results: list[ItemResult] = []
        self._stopped = False
        self._end: float | None = None

    async def run(self) -> None:
        """Run every job, `concurrency` at a time. When cancelled, what is finished is kept in `results`."""
        for name in FORMATS:
            get_format(name)  # loaded now, so that loading is not counted as the first agent's time
        if self.settings.timeout is not None:
            self._end = asyncio.get_running_loop().time() + self.settings.timeout
        jobs = self._jobs()
        async with asyncio.TaskGroup() as group:
            for _ in range(min(self.settings.concurrency, len(self.plan.evaluation.keys()))):
                group.create_task(self._work(jobs))

    def _jobs(self) -> Iterator[Job]:
        for planned in self.plan.items:
            for target in self.plan.targets:
                for repeat in range(planned.repeats):
                    yield Job(planned, target, repeat)

    async def _work(self, jobs: Iterator[Job]) -> None:
        task = asyncio.current_task()
        for job in jobs:
            if self._stopped or (task is not None and task.cancelling()):
                return  # cancelled: whatever it was that swallowed it, nothing further is started
            earlier = self._earlier(job)
            if earlier is not None and self._is_finished(job, earlier):
                self.results.append(earlier)
                continue
            result = await self.run_job(job, earlier)
            await self._finish(result)

    def _earlier(self, job: Job) -> ItemResult | None:
        """What an earlier run left of this job: a run of the same item that did not fail."""
        earlier = self.known.get(job.key)
        if earlier is None or earlier.error is not None or earlier.item_version != job.planned.version:
            return None
        recorded = {turn.turn for turn in earlier.turns if turn.run is not None}
        asked = {number for number, measures in enumerate(job.planned.turns) if measures}
        return earlier if asked <= recorded else None

    def _is_finished(self, job: Job, earlier: ItemResult) -> bool:
        """Whether the earlier result has the scores that are asked for and no others, none of them an error.

        What is asked of a score of the item or of a turn is a part of the result, so it must be the same too.
        """
        planned = job.planned
        asked = {applied.measure.id: applied.scorer.version for applied in self.plan.measures}
        found = {name: score.scorer_version for name, score in earlier.scores.items()}
        local_asked = [
            (place, applied.measure, applied.scorer.version)
            for place, measures in enumerate([planned.own, *planned.turns], -1)
            for applied in measures
        ]
        local_found = [
            (place, entry.measure, entry.score.scorer_version)
            for place, judged in [(-1, earlier.own), *((turn.turn, turn.judged) for turn in earlier.turns)]
            for entry in judged
        ]
        return asked == found and local_asked == local_found and not earlier.has_errors

    async def run_job(self, job: Job, earlier: ItemResult | None = None) -> ItemResult:
        """Ask and score one item once. What an earlier run left of it is not done again."""
        started, clock = datetime.now(UTC).isoformat(timespec="milliseconds"), perf_counter()
        deadline, time_limit = self._deadline()
        if earlier is None:
            played = await self._play(job, deadline, time_limit)
        else:
            played = _played_again(job, earlier)
        scored = await self._score(job, played, earlier, Scoring(deadline, time_limit))
        result = ItemResult(
            item_id=job.planned.item.id,
            item_version=job.planned.version,
            target=job.target,
            repeat=job.repeat,
            tags=list(job.planned.item.tags),
            run=played.run,
            error=played.error,
            started_at=started,
            duration_ms=(perf_counter() - clock) * 1000,
            **scored,
        )
        failure = await hook_failure("after_item", self.settings.hooks.after_item, result)
        return result if failure is None else msgspec.structs.replace(result, hook_errors=[failure])

    def _deadline(self) -> tuple[float | None, str]:
        """The point in time at which this item ends, and what is said then."""
        limit = self.settings.item_timeout
        own = None if limit is None else asyncio.get_running_loop().time() + limit
        if self._end is not None and (own is None or self._end < own):
            return self._end, f"the evaluation's time of {self.settings.timeout:g} s was up"
        return own, f"not finished within {limit:g} s" if limit is not None else ""

    async def _play(self, job: Job, deadline: float | None, time_limit: str) -> Played:
        item = job.planned.item
        if self._end is not None and asyncio.get_running_loop().time() >= self._end:
            return Played(error=StepError("target", "TimeoutError", f"not started: {time_limit}"))
        before = self.settings.hooks.before_item
        failure = await hook_failure("before_item", before, item, job.repeat, deadline=deadline, time_limit=time_limit)
        if failure is not None:  # the hook's rule: the target is not asked, the item is an error
            return Played(error=failure)
        target_number = list(self.plan.targets).index(job.target) + 1  # names and ids may have dashes in them
        thread_id = f"{self.plan.evaluation.id}-{target_number}-{item.id}-{job.repeat + 1}"
        conversation = Conversation(
            self.plan.targets[job.target],
            item,
            job.repeat,
            thread_id=thread_id,
            options=self.plan.options,
            mocks=mocks_of(item, self.plan.unmocked_tools),
            deadline=deadline,
            time_limit=time_limit,
        )
        return await conversation.play()

    async def _score(self, job: Job, played: Played, earlier: ItemResult | None, scoring: Scoring) -> dict[str, Any]:
        """The result's scores: the evaluation's, the item's own, and each turn's that has measures."""

        async def taken(run: Run | None, measures: list[Applied], known: Mapping[str, Score]) -> dict[str, Score]:
            if run is None:
                assert played.error is not None
                return failed_scores(measures, played.error)
            return await scoring.score(run, measures, known)

        def judged(measures: list[Applied], scores: Mapping[str, Score]) -> list[Judged]:
            return [Judged(applied.measure, scores[applied.measure.id]) for applied in measures]

        own, turns = job.planned.own, job.planned.turns
        scores = await taken(played.run, self.plan.measures, earlier.scores if earlier else {})
        of_item = await taken(played.run, own, _by_id(earlier.own) if earlier else {})
        known_turns = {turn.turn: _by_id(turn.judged) for turn in earlier.turns} if earlier else {}
        of_turns = []
        for number, measures in enumerate(turns):
            if measures:
                run = played.turns[number] if number < len(played.turns) else None
                found = await taken(run, measures, known_turns.get(number, {}))
                of_turns.append(TurnResult(number, judged(measures, found), run))
        return {"scores": scores, "own": judged(own, of_item), "turns": of_turns}

    async def _finish(self, result: ItemResult) -> None:
        """Write the result to the journal first, then tell it."""
        failures = []
        if self.journal is not None:
            try:
                self.journal.append(result)
            except Exception as error:  # the disk may be full, and a result may hold anything
                failures.append(step_error("journal", error))
        failure = await hook_failure("on_item_complete", self.settings.on_item_complete, result)
        if failure is not None:
            failures.append(failure)
        if failures:
            result = msgspec.structs.replace(result, hook_errors=[*result.hook_errors, *failures])
        self.results.append(result)
        if self.settings.stop_when is not None and self.settings.stop_when(result):
            self._stopped = True


def _by_id(judged: list[Judged]) -> dict[str, Score]:
    return {entry.measure.id: entry.score for entry in judged}


def _played_again(job: Job, earlier: ItemResult) -> Played:
    """What an earlier run recorded, to be scored again without asking the target.

    Only the runs of turns that have measures are recorded and needed; in the place of others stands an empty run.
    """
    recorded = {turn.turn: turn.run for turn in earlier.turns}
    return Played([recorded.get(number) or Run() for number in range(len(job.planned.turns))], earlier.run)
