"""Conduct along a trajectory: efficiency, retries after failures, and forbidden steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

import msgspec

from referee.display import shown
from referee.errors import ReadError
from referee.jsonvalue import equal, is_finite_number
from referee.scores import rounded
from referee.steps import not_scorable
from referee.trajectories.expectation import TrajectoryExpectation
from referee.trajectory import Step

_TOOL_STEPS = frozenset({"tool_call", "mcp_tool_call", "provider_tool_call"})
_PENALTY = 0.2
_RETRIES = 2


class Taken(msgspec.Struct, frozen=True):
    """The steps taken, and the figures that a budget can be set on; `None` where the run does not carry them."""

    steps: list[Step]
    tokens: int | None
    duration_ms: float | None


class BudgetUse(msgspec.Struct, frozen=True, gc=False):
    """A budget, what was used of it, and its score: 1 within it, less by the share that it is exceeded by."""

    name: str
    budget: float
    used: float
    score: float


class Efficiency(msgspec.Struct, frozen=True):
    """The budgets, and the names of tool steps that repeat the step directly before them (`None`: not counted)."""

    score: float
    budgets: list[BudgetUse]
    redundant_calls: list[str] | None

    @property
    def reason(self) -> str:
        """The figures in a few words."""
        parts = [f"{use.used:,.10g} of {use.budget:,.10g} {use.name} used" for use in self.budgets]
        if self.redundant_calls:
            parts.append(f"redundant: {', '.join(self.redundant_calls)}")
        return "; ".join(parts) or "no redundant calls"


class ToolFailures(msgspec.Struct, frozen=True):
    """How often each tool was called again after it failed, where it was."""

    score: float
    retries: dict[str, int]

    @property
    def reason(self) -> str:
        """The figures in a few words."""
        return ", ".join(f"{name} retried {count} times" for name, count in self.retries.items()) or "no retries"


class Blacklist(msgspec.Struct, frozen=True):
    """The forbidden names and sequences that occur; a sequence is joined by arrows."""

    score: float
    hits: list[str]

    @property
    def reason(self) -> str:
        """The hits in a few words."""
        return f"forbidden: {', '.join(self.hits)}" if self.hits else "nothing forbidden"


def taken_tokens(steps: Sequence[Step]) -> int | None:
    """The tokens of all steps and the steps inside them; `None` when no step carries any.

    Example:
        >>> taken_tokens([Step(name="m", fields={"prompt_tokens": 7, "completion_tokens": 2})]), taken_tokens([])
        (9, None)
    """
    found: list[int] = []
    waiting = list(steps)
    while waiting:
        step = waiting.pop()
        waiting += step.children
        counts = (step.fields.get("prompt_tokens"), step.fields.get("completion_tokens"))
        found += [count for count in counts if type(count) is int]
    return sum(found) if found else None


def taken_duration(total: float | None, steps: Sequence[Step]) -> float | None:
    """The total duration that is stated, else the sum of the steps' if every step has one.

    Example:
        >>> taken_duration(None, [Step(name="a", duration_ms=3.0), Step(name="b", duration_ms=4.0)])
        7.0
    """
    durations = [step.duration_ms for step in steps if step.duration_ms is not None]
    if total is not None or not steps or len(durations) < len(steps):
        return total
    return sum(durations)


def judge_efficiency(expected: TrajectoryExpectation, taken: Taken) -> Efficiency:
    """The mean of one part for each budget and one for redundant calls, unless they are not to be counted.

    Raises:
        NotScorable: There is a budget on a figure that the run does not carry.
    """
    uses = [
        _use(name, budget, used)
        for name, budget, used in (
            ("steps", expected.max_steps, len(taken.steps)),
            ("tokens", expected.max_total_tokens, taken.tokens),
            ("ms", expected.max_total_duration_ms, taken.duration_ms),
        )
        if budget is not None
    ]
    parts = [use.score for use in uses]
    redundant = None
    if expected.no_redundant_calls is not False:
        redundant = [step.name for before, step in pairwise(taken.steps) if _repeats(before, step)]
        parts.append(max(0.0, 1 - _PENALTY * len(redundant)))
    return Efficiency(rounded(fmean(parts)) if parts else 1.0, uses, redundant)


def _use(name: str, budget: float, used: float | None) -> BudgetUse:
    if used is None:
        figure = {"tokens": "tokens", "ms": "a total duration"}[name]
        raise not_scorable(f"there is a budget of {budget:,.10g} {name}, and the run does not carry {figure}")
    if not is_finite_number(used):
        raise ReadError(f"the run used {shown(used)} {name}, which is no number to hold against a budget")
    if used <= budget:
        score = 1.0
    else:
        score = max(0.0, 1 - (used - budget) / budget) if budget else 0.0
    return BudgetUse(name, budget, used, score)


def _repeats(before: Step, step: Step) -> bool:
    return (
        step.step_type in _TOOL_STEPS
        and before.step_type == step.step_type
        and before.name == step.name
        and equal(before.fields.get("tool_args"), step.fields.get("tool_args"))
    )


def judge_tool_failures(expected: TrajectoryExpectation, taken: Taken) -> ToolFailures | None:
    """0.2 less for each retry above the allowed ones of its tool; `None` for a trajectory without tool steps.

    A retry is a tool step whose preceding tool step has the same name and failed.
    """
    tools = [step for step in taken.steps if step.step_type in _TOOL_STEPS]
    if not tools:
        return None
    allowed = _RETRIES if expected.max_retries_per_tool is None else expected.max_retries_per_tool
    retries = Counter(
        step.name
        for before, step in pairwise(tools)
        if before.name == step.name and before.fields.get("success") is False
    )
    excess = sum(max(0.0, count - allowed) for count in retries.values())
    return ToolFailures(rounded(max(0.0, 1 - _PENALTY * excess)), dict(retries))


def judge_blacklist(expected: TrajectoryExpectation, taken: Taken) -> Blacklist | None:
    """0 when a forbidden name or sequence occurs, also among the steps inside a step, else 1; `None` without a blacklist."""
    tools, sequences = expected.blacklisted_tools or [], expected.blacklisted_sequences or []
    if not tools and not sequences:
        return None
    levels = _levels(taken.steps)
    hits = [name for name in dict.fromkeys(tools) if any(name in names for names in levels)]
    hits += [" -> ".join(sequence) for sequence in sequences if any(_contains(names, sequence) for names in levels)]
    return Blacklist(0.0 if hits else 1.0, hits)


def _levels(steps: Sequence[Step]) -> list[list[str]]:
    """The names of the steps, then those of the steps inside each."""
    levels = []
    waiting = [steps]
    while waiting:
        siblings = waiting.pop()
        levels.append([step.name for step in siblings])
        waiting += [step.children for step in siblings if step.children]
    return levels


def _contains(names: Sequence[str], sequence: Sequence[str]) -> bool:
    return any(names[start : start + len(sequence)] == sequence for start in range(len(names) - len(sequence) + 1))
