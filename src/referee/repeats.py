"""Several scores of one run by one judged scorer, and the one score that stands for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import msgspec

from referee.scores import JudgeUsage, Score

#: Repeats that lie further apart than this share of the scorer's range are unstable.
STABLE_SPREAD = 0.1


def median_score(scores: Sequence[Score]) -> Score:
    """The score that stands for several repeats: their median, with steps and reason of the repeat nearest to it.

    `details["repeats"]` has all `scores` (`None` where there is none), their `spread` (highest minus lowest) and
    `unstable`: the spread is above a tenth of the scorer's range, or the repeats differ in outcome. If no repeat gave a
    score, the first error stands, else the first repeat.

    Example:
        >>> repeats = [Score("r", "s", value) for value in (0.5, 1.0, 0.6)]
        >>> score = median_score(repeats)
        >>> score.score, score.details["repeats"]
        (0.6, {'scores': [0.5, 1.0, 0.6], 'spread': 0.5, 'unstable': True})
    """
    values = [score.score for score in scores if score.score is not None]
    if not values:
        chosen = next((score for score in scores if score.error is not None), scores[0])
        return msgspec.structs.replace(chosen, judge=_usage(scores))
    middle = _median(sorted(values))
    nearest = min((score for score in scores if score.score is not None), key=lambda score: abs(score.score - middle))  # type: ignore[operator]
    low, high = nearest.range
    spread = round(max(values) - min(values), 10)
    details: dict[str, Any] = {
        "scores": [score.score for score in scores],
        "spread": spread,
        "unstable": spread > STABLE_SPREAD * (high - low) or len({score.status for score in scores}) > 1,
    }
    return msgspec.structs.replace(
        nearest, score=middle, judge=_usage(scores), details={**(nearest.details or {}), "repeats": details}
    )


def _median(ordered: list[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def _usage(scores: Sequence[Score]) -> dict[str, JudgeUsage] | None:
    """What all repeats asked of the judge, by step."""
    steps = dict.fromkeys(step for score in scores for step in score.judge or ())
    summed = {
        step: reduce(JudgeUsage.__add__, [score.judge[step] for score in scores if score.judge and step in score.judge])
        for step in steps
    }
    return summed or None
