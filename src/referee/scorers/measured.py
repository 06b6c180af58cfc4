"""How a figure of a run becomes a scorer: a number of its own range, for which lower is better."""

from __future__ import annotations

from collections.abc import Callable

from referee.pipeline import Scorer, Verdict
from referee.runs import Run
from referee.steps import not_scorable

#: The range of a figure needs an end; this one no run reaches.
LIMIT = 1e12


def measured(kind: str, figure: Callable[[Run], float | None], noun: str, form: str, id: str) -> Scorer[None, None]:
    """A scorer that gives a figure of the run.

    Args:
        kind: The factory's short name.
        figure: Reads the figure; `None` where the run does not say.
        noun: What it is called.
        form: How it is written, for `str.format`.
        id: The scorer's id.
    """

    def measure(run: Run) -> Verdict:
        value = figure(run)
        return not_scorable(f"the run has no {noun}") if value is None else (float(value), form.format(value))

    return Scorer(
        id=id,
        description=f"The {noun} of the run.",
        range=(0.0, LIMIT),
        lower_is_better=True,
        kind=kind,
        fast=measure,
    )
