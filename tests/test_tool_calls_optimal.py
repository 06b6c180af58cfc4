"""Scores of expected calls and plans equal those of brute force on small cases."""

from __future__ import annotations

from itertools import combinations, permutations, product
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from referee import Run, checks
from referee.messages import Message, ToolCall

ARGS: list[dict[str, Any]] = [{}, {"x": 1}, {"y": 2}, {"x": 1, "y": 2}]
CALLS = [ToolCall(name, args) for name in "ab" for args in ARGS]
ENTRIES: list[Any] = ["a", "b", *({"name": call.name, "args": call.args} for call in CALLS)]
MODES: list[Any] = list(product(["subsequence", "exact", "any"], ["allow", "forbid"], ["exact", "subset", "ignore"]))


def drawn(seed: int) -> tuple[list[Any], list[ToolCall], Any]:
    """Expected calls, calls and modes from one number, which is much faster to draw than lists."""
    random = Random(seed)
    expected = random.choices(ENTRIES, k=random.randrange(5))
    return expected, random.choices(CALLS, k=random.randrange(6)), random.choice(MODES)


def run_with(made: list[ToolCall]) -> Run:
    return Run(id="r", output=[Message("assistant", list(made))])


def fits(entry: Any, call: ToolCall, mode: str) -> bool:
    if isinstance(entry, str):
        return entry == call.name
    if mode == "ignore":
        return bool(entry["name"] == call.name)
    wanted = entry["args"].items()
    same = wanted == call.args.items() if mode == "exact" else wanted <= call.args.items()
    return bool(entry["name"] == call.name and same)


def most_pairs(expected: list[Any], made: list[ToolCall], mode: str, rising: bool) -> int:
    for size in range(min(len(expected), len(made)), 0, -1):
        for mine in combinations(range(len(expected)), size):
            arrangements = combinations(range(len(made)), size) if rising else permutations(range(len(made)), size)
            for theirs in arrangements:
                if all(fits(expected[i], made[j], mode) for i, j in zip(mine, theirs, strict=True)):
                    return size
    return 0


def score_by_force(expected: list[Any], made: list[ToolCall], order: str, extra: str, mode: str) -> float:
    if order == "exact":
        starts = range(len(made) - len(expected) + 1)
        runs = [made[start : start + len(expected)] for start in starts]
        if extra == "forbid":
            runs = [made] if len(made) == len(expected) else []
        return float(any(all(fits(e, c, mode) for e, c in zip(expected, part, strict=True)) for part in runs))
    pairs = most_pairs(expected, made, mode, rising=order == "subsequence")
    if extra == "forbid":
        return float(pairs == len(expected) == len(made))
    return pairs / len(expected) if expected else 1.0


@settings(max_examples=2000)
@given(st.integers(0, 2**32 - 1).map(drawn))
def test_tool_calls_pair_optimally(case: tuple[list[Any], list[ToolCall], Any]) -> None:
    expected, made, (order, extra, mode) = case
    score = checks.tool_calls(expected, order=order, extra=extra, args=mode).run_sync(run_with(made))
    assert score.score == score_by_force(expected, made, order, extra, mode)
    diff = score.analyze_step_result
    assert diff.passed == (score.score == 1)
    # Every call and every expected call stands in the diff once.
    assert sorted(line.call for line in diff.lines if line.call is not None) == list(range(len(made)))
    assert sorted(line.place for line in diff.lines if line.place is not None) == list(range(len(expected)))
    for line in diff.lines:
        if line.change in ("matched", "moved"):
            assert fits(expected[line.place], made[line.call], mode)
        if line.change == "changed":
            assert line.arguments
            assert not fits(expected[line.place], made[line.call], mode)


steps = st.recursive(
    st.sampled_from("abc"),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda members: {"any_order": members}),
        st.lists(inner, min_size=1, max_size=3).map(lambda members: {"one_of": members}),
        inner.map(lambda step: {"optional": step}),
    ),
    max_leaves=4,
)
plans = st.lists(steps, max_size=3)


def sequences(step: Any) -> set[tuple[str, ...]]:
    """Every sequence of calls that fulfils a step."""
    if isinstance(step, str):
        return {(step,)}
    [(group, inner)] = step.items()
    if group == "optional":
        return sequences(inner) | {()}
    if group == "one_of":
        return {sequence for member in inner for sequence in sequences(member)}
    return {
        arranged
        for choice in product(*map(sequences, inner))
        for arranged in permutations([name for sequence in choice for name in sequence])
    }


def follows(plan: list[Any], names: list[str], extra: str) -> bool:
    whole = (tuple(name for part in choice for name in part) for choice in product(*map(sequences, plan)))
    if extra == "forbid":
        return tuple(names) in set(whole)
    return any(is_subsequence(sequence, names) for sequence in whole)


def is_subsequence(sequence: tuple[str, ...], names: list[str]) -> bool:
    rest = iter(names)
    return all(name in rest for name in sequence)


@settings(max_examples=500)
@given(plans, st.lists(st.sampled_from("abcd"), max_size=6), st.sampled_from(["allow", "forbid"]))
def test_plans_are_decided_exactly(plan: list[Any], names: list[str], extra: Any) -> None:
    score = checks.tool_plan(plan, extra=extra).run_sync(run_with([ToolCall(name, {}) for name in names]))
    assert score.score == float(follows(plan, names, extra)), score.reason
    diff = score.analyze_step_result
    assert sorted(line.call for line in diff.lines if line.call is not None) == list(range(len(names)))
