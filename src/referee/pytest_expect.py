"""What the fixtures of the pytest plugin do: run an evaluation, keep its scores for the table, and fail with reasons."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from textwrap import indent
from typing import Any, Unpack

from referee.errors import OptionError, RefereeError, ScoreCheckError
from referee.evaluate import RecordedRuns, Report, SideBySide, run_evals_sync
from referee.evaluate.answers import input_messages
from referee.evaluate.options import EvalOptions
from referee.evaluate.verdict import holds
from referee.formats import to_run
from referee.messages import Message, Text
from referee.report.problems import measured, result_problems, unmet
from referee.results import ItemResult, Measure
from referee.runs import Run, with_id
from referee.scores import TOLERANCE, Score
from referee.terminal import one_line, visible

#: How many results are named that the report says nothing of; the rest is counted.
_RESULTS_SHOWN = 10


class Expectation:
    """An evaluation that was run, and what is expected of it.

    Attributes:
        report: Its report.
    """

    def __init__(self, report: Report) -> None:
        self.report = report

    def to_pass(self, share: float | None = None) -> Report:
        """Fail the test, with the failing items and their reasons, unless the evaluation passes.

        Args:
            share: The share of the results that must pass, 0 to 1. A result passes when nothing failed in it, every
                gate holds, and every score is within its scorer's threshold; without gates and thresholds every score
                must be 1. Results that are missing do not pass, and where nothing was scorable nothing does. `None`
                asks for the evaluation's verdict to be `passed` and for no errors; without a verdict for a share of 1.

        Returns:
            The report.

        Raises:
            ScoreCheckError: It does not pass.
            OptionError: The share is outside 0 to 1, or nothing says what passing is.
        """
        __tracebackhide__ = True
        if share is not None and not 0 <= share <= 1:
            raise OptionError(f"a share is 0 to 1 (0.8 for 80 %), not {share!r}")
        problem = _verdict_problem(self.report) if share is None and self.report.verdict else None
        if share is not None or not self.report.verdict:
            problem = _share_problem(self.report, 1.0 if share is None else share)
        if problem is not None:
            raise ScoreCheckError(f"{problem}\n\n{self.report}")
        return self.report


def _verdict_problem(report: Report) -> str | None:
    if report.verdict != "passed":
        return f"the verdict is {report.verdict}"
    return None if report.complete else "the gates hold, but the evaluation has errors or is incomplete"


def _share_problem(report: Report, share: float) -> str | None:
    planned = len(report.results) + report.missing
    if not any(score.status != "not_scorable" for result in report.results for score in result.all_scores):
        return f"nothing was scorable in {planned} results"
    shortfalls = [(result, _shortfalls(report, result)) for result in report.results]
    passed = sum(not found for _, found in shortfalls)
    found = passed / planned
    if found >= share - TOLERANCE:
        return None
    head = f"{passed} of {planned} results pass ({found:.0%}), expected {share:.0%}"
    return "\n".join([head, *_unnamed(report, shortfalls)])


def _shortfalls(report: Report, result: ItemResult) -> list[str]:
    """What keeps a result from passing; nothing when it passes."""
    if result.has_errors:
        return ["it has an error"]
    entries = [(measure, score) for _, measure, score in measured(report, result)]
    if any(measure.bounds is not None for measure, _ in entries):
        return [_short(measure, score) for measure, score in entries if holds(measure, score) is False]
    for measure, _ in entries:
        if measure.lower_is_better or measure.range != (0.0, 1.0):
            raise OptionError(f"{measure.id}: say what passes: {{scorer: ..., threshold: ...}}")
    return [_short(measure, score) for measure, score in entries if score.score is not None and not _is_one(score)]


def _is_one(score: Score) -> bool:
    return score.score is not None and score.score >= 1 - TOLERANCE


def _short(measure: Measure, score: Score) -> str:
    asked = measure.bounds or "1: no gate and no threshold says what passes"
    return f"{measure.id} {score.score:g}, must be {asked}\n{indent(score.reason or '', '  ')}".rstrip()


def _unnamed(report: Report, shortfalls: Iterable[tuple[ItemResult, list[str]]]) -> list[str]:
    """The results that do not pass and that the report does not name: it names those of gates and missed thresholds."""
    asked = unmet(report)
    found = [entry for entry in shortfalls if entry[1] and not result_problems(report, entry[0], asked)]
    lines = []
    for result, reasons in found[:_RESULTS_SHOWN]:
        lines += [f"  {visible(result.name)}", *(indent(visible(reason), "    ") for reason in reasons)]
    rest = len(found) - _RESULTS_SHOWN
    return [*lines, f"  … and {rest} more"] if rest > 0 else lines


class ExpectEvals:
    """`expect_evals(...)` takes the arguments of `run_evals` for one target, and runs it at once."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def __call__(self, *, target: Any = None, **options: Unpack[EvalOptions]) -> Expectation:
        """Run the evaluation.

        Raises:
            OptionError: Something is wrong with the arguments; nothing was run.
        """
        __tracebackhide__ = True
        if "targets" in options:
            raise OptionError("expect_evals takes one target; call it once for each")
        _check_names("expect_evals", options)
        report = _report(target, options)
        self._rows += _rows(report)
        return Expectation(report)


class ExpectEval:
    """`expect_eval(...)` scores one answer, or asks a target one question."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def __call__(
        self,
        answer: Any = None,
        *,
        target: Any = None,
        input: Any = None,
        ground_truth: Any = None,
        expected_tool_calls: Any = None,
        **options: Unpack[EvalOptions],
    ) -> Expectation:
        """Score an answer, or what a target answers.

        Args:
            answer: A text, messages or a run.
            target: Asked with `input` when there is no answer.
            input: What was asked, or is asked now.
            ground_truth: The right answer.
            expected_tool_calls: The expected tool calls.
            options: Gates, scorers and the other options of `run_evals`.

        Raises:
            OptionError: Neither or both of answer and target, or another wrong argument.
        """
        __tracebackhide__ = True
        if (answer is None) == (target is None):
            raise OptionError("expect_eval takes an answer, or a target with an input")
        item: dict[str, Any] = {"ground_truth": ground_truth, "expected_tool_calls": expected_tool_calls}
        if target is None:
            run = _run_of(answer, input)
            target = RecordedRuns([run])
            item |= {"id": run.id, "input": input if input is not None else run.input}
        else:
            item["input"] = input
        if "data" in options:
            raise OptionError("expect_eval is about one answer; expect_evals takes data")
        _check_names("expect_eval", options)
        options["data"] = [item]
        report = _report(target, options)
        self._rows += _rows(report)
        return Expectation(report)


def _check_names(fixture: str, options: Mapping[str, Any]) -> None:
    """Refuse an argument that `run_evals` does not take, with the nearest one."""
    __tracebackhide__ = True
    known = EvalOptions.__annotations__
    for name in options:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it takes those of run_evals: {', '.join(known)}"
            raise OptionError(f"{fixture} has no argument {name!r}; {hint}")


def _report(target: Any, options: EvalOptions) -> Report:
    __tracebackhide__ = True
    try:
        report = run_evals_sync(target=target, **options)
    except RefereeError as error:
        raise error.with_traceback(None) from None  # the test's line and the message say it all
    assert not isinstance(report, SideBySide)
    return report


def _run_of(answer: Any, asked: Any) -> Run:
    __tracebackhide__ = True
    if isinstance(answer, str):
        messages = [] if asked is None else input_messages(asked)
        return with_id(Run(input=messages, output=[Message("assistant", [Text(answer)])]))
    try:
        return with_id(to_run(answer))
    except RefereeError as error:
        raise error.with_traceback(None) from None


def _rows(report: Report) -> list[dict[str, Any]]:
    """A row per score, of plain values: rows travel between the processes of pytest-xdist."""
    return [
        {
            "evaluation": report.evaluation.id,
            "item": _sendable(result.item_id),
            "repeat": result.repeat,
            "turn": turn if turn is not None and turn >= 0 else None,
            "scorer": _sendable(measure.id),
            "status": score.status,
            "score": score.score,
            "passed": None if measure.bounds is None or score.score is None else measure.bounds.hold(score.score),
            "reason": _sendable(score.error.message if score.error is not None else score.reason),
        }
        for result in report.results
        for turn, measure, score in measured(report, result)
    ]


def _sendable(text: str | None) -> str | None:
    """The text with halves of surrogate pairs written out: one of them would end the worker of pytest-xdist."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode()


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """The lines of the table at the end of a test run: a line per test and scorer."""
    grouped: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        grouped.setdefault((row["test"], row["scorer"]), []).append(row)
    lines = [("test", "scorer", "mean", "scored", "errors")]
    for (test, scorer), found in grouped.items():
        scores = [row["score"] for row in found if row["score"] is not None]
        errors = sum(row["status"] == "error" for row in found)
        mean = f"{sum(scores) / len(scores):.3f}" if scores else "–"
        lines.append(
            (one_line(test, 70), one_line(scorer, 40), mean, f"{len(scores)} of {len(found)}", str(errors or "–"))
        )
    return _aligned(lines)


def _aligned(lines: Iterable[tuple[str, ...]]) -> list[str]:
    lines = list(lines)
    widths = [max(map(len, column)) for column in zip(*lines)]
    return [
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths))
        )
        for line in lines
    ]


def write_rows(rows: Iterable[dict[str, Any]], path: str) -> None:
    """Write the rows as JSON Lines."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
