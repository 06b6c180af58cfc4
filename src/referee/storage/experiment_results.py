"""Results of an evaluation as runs with scores, and back: what a report needs comes out of the store as it went in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import Connection, select

from referee.bounds import Bounds
from referee.results import Evaluation, ItemResult, Judged, Measure, TurnResult
from referee.runs import Run
from referee.scores import Score, StepError
from referee.storage import codec
from referee.storage.schema import WHOLE_RUN, run_contents, runs, score_details, scorers, scores
from referee.storage.score_rows import score_of
from referee.storage.scored_runs import ScoredRun

#: So many runs are read at once.
_CHUNK = 200


class ExtraTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """The measures of one turn of a result, and its run."""

    turn: int
    measures: list[Measure]
    run: Run | None = None


class Extra(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a result holds beside its run and its scores."""

    item_version: str = ""
    tags: list[str] = []
    error: StepError | None = None
    own: list[Measure] = []
    turns: list[ExtraTurn] = []
    hook_errors: list[StepError] = []
    started_at: str | None = None
    duration_ms: float | None = None


def to_scored_run(result: ItemResult, evaluation: Evaluation) -> ScoredRun:
    """A result as it is saved."""
    own = [judged.score for judged in result.own]
    measures = [*evaluation.measures, *(judged.measure for judged in result.own)]
    measures += [judged.measure for turn in result.turns for judged in turn.judged]
    extra = Extra(
        item_version=result.item_version,
        tags=result.tags,
        error=result.error,
        own=[judged.measure for judged in result.own],
        turns=[ExtraTurn(turn.turn, [judged.measure for judged in turn.judged], turn.run) for turn in result.turns],
        hook_errors=result.hook_errors,
        started_at=result.started_at,
        duration_ms=result.duration_ms,
    )
    error = result.error
    return ScoredRun(
        run=result.run or Run(),
        scores=[*result.scores.values(), *own],
        turn_scores={turn.turn: [judged.score for judged in turn.judged] for turn in result.turns},
        item=result.item_id,
        repeat=result.repeat,
        tags=result.tags,
        extra=extra,
        error=None if error is None else f"{error.step}: {error.error_class}: {error.message}",
        bounds=_gate_bounds(measures),
    )


def _gate_bounds(measures: list[Measure]) -> dict[str, Bounds]:
    """What a single score has to hold. The bounds of a threshold are of the mean, not of a score."""
    return {measure.id: measure.bounds for measure in measures if measure.role == "gate" and measure.bounds is not None}


def read_results(connection: Connection, experiment: int, evaluation: Evaluation, target: str) -> Iterator[ItemResult]:
    """The results of an experiment, in the order of its items."""
    last = 0
    while True:
        query = select(runs.c.id, runs.c.item, runs.c.repeat).where(runs.c.experiment == experiment, runs.c.id > last)
        found = connection.execute(query.order_by(runs.c.id).limit(_CHUNK)).all()
        if not found:
            return
        last = found[-1].id
        numbers = [row.id for row in found]
        contents = _contents(connection, numbers)
        by_run = _scores(connection, numbers)
        for row in found:
            run, extra = contents.get(row.id, (Run(), Extra()))
            yield _result(row, target, run, extra, by_run.get(row.id, []), evaluation)


def _contents(connection: Connection, numbers: list[int]) -> dict[int, tuple[Run, Extra]]:
    query = select(run_contents).where(run_contents.c.run.in_(numbers))
    return {
        row.run: (codec.decode(row.body, Run), codec.decode(row.extra, Extra) if row.extra else Extra())
        for row in connection.execute(query)
    }


def _scores(connection: Connection, numbers: list[int]) -> dict[int, list[tuple[int, Score]]]:
    """The scores of runs with their turns, in the order in which they were saved."""
    source = scores.join(scorers, scorers.c.id == scores.c.scorer).join(runs, runs.c.id == scores.c.run)
    source = source.outerjoin(score_details, score_details.c.score == scores.c.id)
    columns = (scores.c.run, scores.c.turn, runs.c.run_id, scores.c.value, score_details.c.reason, score_details.c.body)
    of_scorer = (scorers.c.scorer_id, scorers.c.version, scorers.c.low, scorers.c.high, scorers.c.lower_is_better)
    query = select(*columns, *of_scorer).select_from(source).where(scores.c.run.in_(numbers)).order_by(scores.c.id)
    found: dict[int, list[tuple[int, Score]]] = {}
    for row in connection.execute(query):
        found.setdefault(row.run, []).append((row.turn, score_of(row)))
    return found


def _result(
    row: Any,
    target: str,
    run: Run,
    extra: Extra,
    found: list[tuple[int, Score]],
    evaluation: Evaluation,
) -> ItemResult:
    named = {measure.id: measure for measure in evaluation.measures}
    whole = [score for turn, score in found if turn == WHOLE_RUN]
    own = {score.scorer_id: score for score in whole if score.scorer_id not in named}
    by_turn: dict[int, dict[str, Score]] = {}
    for turn, score in found:
        by_turn.setdefault(turn, {})[score.scorer_id] = score
    by_id = {score.scorer_id: score for score in whole}
    return ItemResult(
        item_id=row.item,
        item_version=extra.item_version,
        target=target,
        repeat=row.repeat,
        tags=extra.tags,
        run=None if extra.error is not None and run == Run() else run,
        error=extra.error,
        scores={name: by_id[name] for name in named if name in by_id},
        own=[Judged(measure, own[measure.id]) for measure in extra.own if measure.id in own],
        turns=[
            TurnResult(
                turn.turn,
                [
                    Judged(measure, by_turn[turn.turn][measure.id])
                    for measure in turn.measures
                    if measure.id in by_turn.get(turn.turn, {})
                ],
                turn.run,
            )
            for turn in extra.turns
        ],
        hook_errors=extra.hook_errors,
        started_at=extra.started_at,
        duration_ms=extra.duration_ms,
    )
