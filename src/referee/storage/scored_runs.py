"""What is written into a store: runs with the scores that they got, and what they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from referee.bounds import Bounds
from referee.runs import Run
from referee.scores import Score

#: What scores belong to: an experiment, or the scores of recorded runs, or those of live traffic.
Kind: TypeAlias = Literal["experiment", "recorded", "live"]

#: The keys of what scores belong to when no experiment is named.
RECORDED, LIVE = "recorded", "live"


class ScoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run and the scores that it got.

    The result key of each score is (experiment, `item`, `repeat`, turn, scorer, scorer's version).

    Attributes:
        run: The run. Where only its scores are known, a `Run` with an id and nothing else.
        scores: Its scores, in any number; more may be written later.
        turn_scores: Scores of single turns, by the turn's index from 0.
        item: The item's id; the run's own id when empty.
        repeat: Which repetition of the item, from 0.
        tags: The item's tags.
        extra: Anything else to keep with the run, as plain data.
        error: Why there is no run: the target's failure, as one line.
        bounds: By scorer id, what a score has to hold. A score of a scorer without bounds neither passes nor fails,
            unless it is a check, which passes at 1.
    """

    run: Run
    scores: list[Score] = []
    turn_scores: dict[int, list[Score]] = {}
    item: str = ""
    repeat: int = 0
    tags: list[str] = []
    extra: Any = None
    error: str | None = None
    bounds: Mapping[str, Bounds] = {}

    @property
    def all_scores(self) -> list[Score]:
        """The scores of the whole run and of single turns."""
        return [*self.scores, *(score for scores in self.turn_scores.values() for score in scores)]
