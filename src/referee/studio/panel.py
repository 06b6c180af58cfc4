"""The score panel: everything that is kept of one score, and what stands around it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from referee.diffs import ToolCallDiff
from referee.runs import Run
from referee.scores import JudgeUsage, Score
from referee.storage.filters import ScoreFilter
from referee.storage.label_rows import Label
from referee.storage.score_rows import ScoreRow, StoredScore
from referee.storage.store import Store
from referee.studio.conversation import Section, sections_of
from referee.studio.fields import Field, Fields

#: So many scores of the same item elsewhere, and of the same run, are listed.
MOST_NEIGHBOURS = 25
#: So many labels of one score are shown.
MOST_LABELS = 100
_STEPS = ("preprocess", "analyze", "generate_score", "generate_reason")


@dataclass(frozen=True, slots=True)
class StepView:
    """A step of the scorer: what the judge was asked, what came of it, and what that took."""

    name: str
    prompt: Field | None
    result: Field | None
    usage: JudgeUsage | None


@dataclass(frozen=True, slots=True)
class Panel:
    """What the panel shows."""

    row: ScoreRow
    score: Score
    reason: Field | None
    raw_reply: Field | None
    details: Field | None
    steps: list[StepView]
    diff: ToolCallDiff | None
    sections: list[Section]
    expected: list[tuple[str, Field]]
    facts: list[tuple[str, str, str | None]]
    warnings: list[str]
    elsewhere: list[ScoreRow]
    elsewhere_total: int
    of_run: list[ScoreRow]
    of_run_total: int
    labels: list[Label]

    @property
    def label_values(self) -> list[float]:
        """The values that a person can choose without typing: the whole numbers of a short scale, else three places."""
        low, high = self.row.range
        if low.is_integer() and high.is_integer() and 2 <= high - low <= 10:
            return [low + step for step in range(int(high - low) + 1)]
        return [low, (low + high) / 2, high]

    @property
    def usage(self) -> JudgeUsage | None:
        """What the judge took in all."""
        return sum(self.score.judge.values(), JudgeUsage()) if self.score.judge else None


def panel_of(store: Store, stored: StoredScore) -> Panel:
    """The panel of a score."""
    row, score, run = stored.row, stored.score, stored.run
    fields = Fields(score=row.number)
    reason = score.reason if score.reason is not None else row.reason
    elsewhere = store.scores.page(ScoreFilter(item=row.item, scorer=row.scorer), limit=MOST_NEIGHBOURS)
    of_run = store.scores.page(
        ScoreFilter(experiment=row.experiment, item=row.item, run=row.run_id), limit=MOST_NEIGHBOURS
    )
    return Panel(
        row=row,
        score=score,
        reason=None if reason is None else _reason(fields, score, reason),
        raw_reply=_optional(fields, score.error and score.error.raw_reply, "score.error.raw_reply"),
        details=_optional(fields, score.details, "score.details"),
        steps=_steps(score, fields),
        diff=diff_of(score),
        sections=sections_of(run, fields),
        expected=expectations_of(run, fields),
        facts=_facts(stored),
        warnings=run.warnings,
        elsewhere=[other for other in elsewhere.rows if other.number != row.number],
        elsewhere_total=elsewhere.total - 1,
        of_run=[other for other in of_run.rows if other.run == row.run and other.number != row.number],
        of_run_total=of_run.total - 1,
        labels=labels_of(store, row),
    )


def expectations_of(run: Run, fields: Fields) -> list[tuple[str, Field]]:
    """What a run holds beside its messages."""
    names = ("ground_truth", "expected_tool_calls", "expected_trajectory", "context", "metadata")
    given = ((name, getattr(run, name)) for name in names)
    return [(name.replace("_", " "), fields.of(value, f"run.{name}")) for name, value in given if value is not None]


def labels_of(store: Store, row: ScoreRow) -> list[Label]:
    """What people think of what a score judged."""
    found = store.labels.latest(run=row.run, scorer=row.scorer, limit=MOST_LABELS)
    return [label for label in found if label.turn == row.turn]


def diff_of(score: Score) -> ToolCallDiff | None:
    """The diff of expected calls and calls that a scorer left as the result of its analysis, if it did."""
    result = score.analyze_step_result
    if not isinstance(result, Mapping) or not {"lines", "expected", "matched", "called"} <= result.keys():
        return None
    try:
        return msgspec.convert(result, ToolCallDiff)
    except msgspec.ValidationError:
        return None


def _reason(fields: Fields, score: Score, reason: str) -> Field:
    if score.error is not None:
        return fields.of(reason, "score.error.message")
    return fields.of(reason, "score.not_scorable.reason" if score.reason is None else "score.reason")


def _optional(fields: Fields, value: Any, path: str) -> Field | None:
    return None if value is None else fields.of(value, path)


def _steps(score: Score, fields: Fields) -> list[StepView]:
    found = []
    for name in _STEPS:
        prompt = getattr(score, f"{name}_prompt")
        result = getattr(score, f"{name}_step_result", None)
        usage = (score.judge or {}).get(name)
        if prompt is not None or result is not None or usage is not None:
            found.append(
                StepView(
                    name.replace("_", " "),
                    _optional(fields, prompt, f"score.{name}_prompt"),
                    _optional(fields, result, f"score.{name}_step_result"),
                    usage,
                )
            )
    return found


def _facts(stored: StoredScore) -> list[tuple[str, str, str | None]]:
    """Names, values, and the filter that asks for a value; `None` for values that are no filter."""
    row, run = stored.row, stored.run
    facts: list[tuple[str, str | None, str | None]] = [
        ("experiment", row.experiment, "experiment"),
        ("item", row.item, "item"),
        ("repeat", str(row.repeat + 1) if row.repeat else None, None),
        ("turn", None if row.turn is None else str(row.turn + 1), None),
        ("scorer", row.scorer, "scorer"),
        ("version", row.version, "version"),
        ("run", row.run_id, "run"),
        ("thread", run.thread_id, "thread"),
        ("trace", run.trace_id, "trace"),
        ("model", run.model, None),
        ("day", f"{row.at:%Y-%m-%d}", "day"),
    ]
    return [(name, value, wanted) for name, value, wanted in facts if value]
