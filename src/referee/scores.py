"""What a scorer gives: a score, "not scorable", or an error. Never two of them, and never one in place of another."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any, Literal, TypeAlias

import msgspec

from referee.errors import OptionError, ScoreCheckError

Status: TypeAlias = Literal["scored", "not_scorable", "error"]
StepName: TypeAlias = Literal["prepare_run", "preprocess", "analyze", "generate_score", "generate_reason"]

#: How far below a bound a number may lie and still reach it: sums of decimal fractions are not exact.
TOLERANCE = 1e-9
#: The range of most scorers.
UNIT_RANGE = (0.0, 1.0)


class Unscored(msgspec.Struct, frozen=True, gc=False):
    """There was nothing to evaluate: at which step, and why."""

    step: str
    reason: str


class StepError(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What went wrong: at which step, the class of the exception and its message.

    `raw_reply` is the judge's reply as it came, when the judge's answer was unusable.
    """

    step: str
    error_class: str
    message: str
    raw_reply: str | None = None


class JudgeUsage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What one step asked of the judge.

    Attributes:
        model: The judge's model.
        calls: Replies received, cached ones included.
        attempts: Requests sent, retries and repairs included.
        cached: Replies that came from the cache.
        input_tokens, output_tokens: As the endpoint reports them.
        cost: US dollars, where the price is known.
        duration_ms: Wall time of the step's questions.
    """

    model: str | None = None
    calls: int = 0
    attempts: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    duration_ms: float = 0.0

    def __add__(self, other: JudgeUsage) -> JudgeUsage:
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return JudgeUsage(
            model=self.model or other.model,
            calls=self.calls + other.calls,
            attempts=self.attempts + other.attempts,
            cached=self.cached + other.cached,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cost=sum(costs) if costs else None,
            duration_ms=self.duration_ms + other.duration_ms,
        )


class Score(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The outcome of one scorer on one run.

    Exactly one of three: `status` is `scored` (then `score` is a finite number), `not_scorable` (there was nothing
    to evaluate) or `error`.

    Attributes:
        run_id, scorer_id, scorer_version: What was scored, by what.
        score: The number, or `None`.
        reason: A sentence that a person can read.
        preprocess_step_result, analyze_step_result: What the steps gave.
        preprocess_prompt, analyze_prompt, generate_score_prompt, generate_reason_prompt: What the judge was asked.
        judge: Usage of the judge by step.
        not_scorable: The step and the reason, when there was nothing to evaluate.
        error: The step, class and message, when the scorer failed.
        reason_error: The failure of `generate_reason`; the score stands.
        range: The lowest and highest value that the scorer can give.
        lower_is_better: Whether a low score is the good one.
        details: Anything more the scorer keeps, such as the spread of repeats.

    Example:
        >>> Score("run-1", "check-includes", 1.0).status
        'scored'
    """

    run_id: str
    scorer_id: str
    score: float | None = None
    reason: str | None = None
    scorer_version: str = ""
    preprocess_step_result: Any = None
    analyze_step_result: Any = None
    preprocess_prompt: str | None = None
    analyze_prompt: str | None = None
    generate_score_prompt: str | None = None
    generate_reason_prompt: str | None = None
    judge: dict[str, JudgeUsage] | None = None
    not_scorable: Unscored | None = None
    error: StepError | None = None
    reason_error: StepError | None = None
    range: tuple[float, float] = UNIT_RANGE
    lower_is_better: bool = False
    details: dict[str, Any] | None = None

    @property
    def status(self) -> Status:
        """`scored`, `not_scorable` or `error`."""
        if self.error is not None:
            return "error"
        return "scored" if self.score is not None else "not_scorable"

    def check(self, *, min: float | None = None, max: float | None = None) -> None:
        """Raise, with the reason, unless this is a passing score.

        Args:
            min: The lowest passing value. Without `min` and `max` it is 1.
            max: The highest passing value.

        Raises:
            ScoreCheckError: The score is below `min`, above `max`, or there is none.
            OptionError: The scorer's range is not 0 to 1, or lower is better, and no bound was given.

        Example:
            >>> Score("run-1", "check-includes", 0.0, 'the text does not contain "sunny"').check()
            Traceback (most recent call last):
                ...
            referee.errors.ScoreCheckError: check-includes: 0 is below 1: the text does not contain "sunny"
        """
        __tracebackhide__ = True  # pytest then shows the test's own line
        if min is None and max is None:
            if self.lower_is_better or self.range != (0.0, 1.0):
                raise OptionError(
                    f"{self.scorer_id}: give min= or max=: its range is {self.range}, lower_is_better={self.lower_is_better}"
                )
        problem = _problem(self, 1.0 if min is None and max is None else min, max)
        if problem:
            raise ScoreCheckError(f"{self.scorer_id}: {problem}" + (f": {self.reason}" if self.reason else ""))

    def to_mastra(self) -> dict[str, Any]:
        """This result in the camelCase shape of `@mastra/evals`, without empty fields.

        Example:
            >>> Score("run-1", "check-includes", 1.0).to_mastra()
            {'runId': 'run-1', 'scorerId': 'check-includes', 'score': 1.0}
        """
        plain = msgspec.to_builtins(self)
        plain.pop("range", None)
        plain.pop("lower_is_better", None)
        return {
            _camel(key): _camel_fields(getattr(self, key), value) if key.endswith("_step_result") else value
            for key, value in plain.items()
            if value not in (None, "")
        }


def rounded(value: float) -> float:
    """The value rounded half up to two decimals, of the decimal number it stands for and not of its binary neighbour.

    Example:
        >>> rounded(0.285), rounded(0.3 * 0.95)
        (0.29, 0.29)
    """
    return float(Decimal(f"{value:.10f}").quantize(Decimal("0.01"), ROUND_HALF_UP))


def _problem(score: Score, low: float | None, high: float | None) -> str | None:
    if score.error is not None:
        return f"error in {score.error.step}: {score.error.error_class}: {score.error.message}"
    if score.score is None:
        return f"not scorable: {score.not_scorable.reason}" if score.not_scorable else "not scorable"
    if low is not None and score.score < low - TOLERANCE:
        return f"{score.score:g} is below {low:g}"
    if high is not None and score.score > high + TOLERANCE:
        return f"{score.score:g} is above {high:g}"
    return None


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(word.title() for word in rest)


def _camel_fields(value: Any, plain: Any, inside: bool = False) -> Any:
    """The plain form of a step result in camelCase: the fields of structs, and objects that are no part of a struct.

    An object inside a struct is data, such as the arguments of a call, and stays as it is.
    """
    if isinstance(value, msgspec.Struct):
        return {_camel(name): _camel_fields(getattr(value, name), item, True) for name, item in plain.items()}
    if isinstance(value, (list, tuple)):
        return [_camel_fields(one, item, inside) for one, item in zip(value, plain, strict=True)]
    return plain if inside else _camel_keys(plain)


def _camel_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel(key): _camel_keys(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_camel_keys(item) for item in value]
    return value
