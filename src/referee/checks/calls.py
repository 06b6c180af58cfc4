"""Checks of the tool calls against expected ones, with a diff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from referee.diffs import ToolCallDiff
from referee.errors import OptionError
from referee.expectations.alignment import Aligner, Extra, Order, Relation, Retries, Slot, counted_calls
from referee.expectations.calls import read_expected_calls
from referee.expectations.comparison import ArgsMode, Comparison
from referee.expectations.in_place import diff_in_place
from referee.expectations.matchers import MatcherSpec, compile_matchers
from referee.expectations.paths import parse_path
from referee.expectations.plans import Plan, fulfilling_pairs, nearest_order, read_plan
from referee.pipeline import Finding, Scorer
from referee.runs import Run
from referee.steps import NotScorable, not_scorable


def tool_calls(
    expected: Sequence[str | Mapping[str, Any]] | None = None,
    *,
    order: Order = "subsequence",
    extra: Extra = "allow",
    args: ArgsMode = "exact",
    matchers: Mapping[str, MatcherSpec] | None = None,
    forbid_args: Sequence[str] = (),
    retries: Retries = "count",
    id: str | None = None,
) -> Scorer[None, ToolCallDiff]:
    """The tool calls are the expected ones.

    Expected calls and calls are paired so that the number of pairs is the greatest possible. With `order="exact"` or
    `extra="forbid"` the score is 1 or 0, otherwise the matched share of the expected calls (1 when none are expected).
    The reason of a failure is a diff; as data it is the `analyze_step_result`, a `referee.diffs.ToolCallDiff`.

    Args:
        expected: The calls: a name, or `{"name": ..., "args": {...}}`; without `args` any arguments match. Instead of
            `args` an entry may have `allowed_args`, a list of allowed values for each argument. `None` reads the
            run's `expected_tool_calls`; a run without them is not scorable.
        order: `subsequence` in this order, other calls may stand between them; `exact` in this order, directly one
            after another; `any`.
        extra: `allow` other calls, or `forbid` them.
        args: `exact` the arguments are equal; `subset` the expected ones are among them, inside nested objects too;
            `ignore` only names count.
        matchers: Other ways to compare single arguments, by path: `unordered_list`, `coerce` (a text that reads as a
            number or boolean equals it), `ignore_case`, `{"abs_tol": 0.5}`, `{"regex": pattern}` (found in the
            argument; the expected value is not compared), or a function `(expected, actual) -> bool`. Paths start at
            the arguments: `filter.tags`, `items[0].price`, `items[*].price`, `["odd.name"]`.
        forbid_args: Paths of arguments that a call must not have; a call that has one matches nothing.
        retries: `count` every call; `collapse_failed` leaves out a failed call that is directly followed by the same
            call; `ignore_failed` leaves out every failed call.
        id: Another id than `check-tool-calls`.

    Returns:
        A scorer that gives 0 to 1.

    Raises:
        OptionError: An entry, a path, a matcher or a word is wrong, or matchers have nothing to compare.

    Example:
        >>> from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
        >>> call = create_tool_invocation(tool_name="forecast", args={"city": "Gent", "days": 3})
        >>> run = create_agent_test_run(output=[create_test_message(role="assistant", tool_invocations=[call])])
        >>> score = tool_calls([{"name": "forecast", "args": {"city": "Ghent", "days": 3}}]).run_sync(run)
        >>> print(score.reason)
        0 of 1 expected calls matched: 1 with other arguments
          ~ 1 call 1 forecast(city="Gent", days=3)
              city: expected "Ghent", got "Gent"
    """
    _require_word("order", order, Order)
    _require_word("extra", extra, Extra)
    _require_word("args", args, ArgsMode)
    _require_word("retries", retries, Retries)
    if isinstance(forbid_args, str) or not isinstance(forbid_args, Sequence):
        raise OptionError(f"checks.tool_calls: forbid_args must be a list of paths, not {forbid_args!r}")
    given = None if expected is None else read_expected_calls(expected, "checks.tool_calls: expected")
    slots = None if given is None else [Slot((call,)) for call in given]
    comparison = Comparison(args, compile_matchers(matchers), [parse_path(path) for path in forbid_args])
    if matchers and (args == "ignore" or (given is not None and all(call.any_args for call in given))):
        raise OptionError("checks.tool_calls: matchers compare arguments, but no expected call has any to compare")

    entries = None if given is None else [call.entry for call in given]
    in_place = comparison.plain and retries == "count"
    binary = order == "exact" or extra == "forbid"

    def judge_run(run: Run) -> Finding | NotScorable:
        if given is None and run.expected_tool_calls is None:
            return not_scorable("the run has no expected_tool_calls, and none were given")
        if in_place:
            wished = run.expected_tool_calls if entries is None else entries
            diff = diff_in_place(wished, run.tool_calls, extra_allowed=extra == "allow")
            if diff is not None:
                return _finding(diff, binary)
        wanted = _slots_of(run) if slots is None else slots
        return _finding(_diff_of_calls(run, wanted, comparison, order, extra, retries), binary)

    options = {
        "expected": entries,
        "order": order,
        "extra": extra,
        "args": args,
        "matchers": dict(matchers) if matchers else None,
        "forbid_args": list(forbid_args) or None,
        "retries": retries,
    }
    return Scorer(
        id=id or "check-tool-calls",
        description="The tool calls are the expected ones.",
        kind="checks.tool_calls",
        options={name: value for name, value in options.items() if value is not None},
        fast=judge_run,
    )


def tool_plan(
    steps: Sequence[str | Mapping[str, Any]], *, extra: Extra = "allow", id: str | None = None
) -> Scorer[None, ToolCallDiff]:
    """The tool calls follow a plan: steps in order, with groups in any order, alternatives and optional steps.

    Args:
        steps: A step is a name, `{"name": ..., "args": {...}}`, or a group: `{"any_order": [steps]}` all of them in any
            order, `{"one_of": [steps]}` one of them, `{"optional": step}` the step or nothing. Groups may hold groups.
        extra: `allow` other calls before, between and after the steps, or `forbid` them.
        id: Another id than `check-tool-plan`.

    Returns:
        A scorer that gives 1 or 0. The reason of a failure is a diff, as in `tool_calls`.

    Raises:
        OptionError: A step is wrong, or groups inside groups combine in more than 1,000 ways.

    Example:
        >>> from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
        >>> calls = [create_tool_invocation(tool_name=name) for name in ("login", "weather", "news", "logout")]
        >>> run = create_agent_test_run(output=[create_test_message(role="assistant", tool_invocations=calls)])
        >>> tool_plan(["login", {"any_order": ["news", "weather"]}, {"optional": "logout"}]).run_sync(run).score
        1.0
    """
    _require_word("extra", extra, Extra, "tool_plan")
    try:
        plan = read_plan(steps)
    except OptionError as error:
        raise OptionError(f"checks.tool_plan: {error}") from None
    except RecursionError:
        raise OptionError("checks.tool_plan: its groups are nested too deeply") from None

    def judge_run(run: Run) -> Finding:
        return _finding(_diff_of_plan(run, plan, extra), binary=True)

    return Scorer(
        id=id or "check-tool-plan",
        description="The tool calls follow the plan.",
        kind="checks.tool_plan",
        options={"steps": list(steps), "extra": extra},
        fast=judge_run,
    )


def _require_word(option: str, value: Any, words: Any, check_name: str = "tool_calls") -> None:
    if value not in get_args(words):
        raise OptionError(f"checks.{check_name}: {option} must be one of {', '.join(get_args(words))}, not {value!r}")


def _finding(diff: ToolCallDiff, binary: bool) -> Finding:
    passed = diff.passed
    score = float(passed) if binary or not diff.expected else diff.matched / diff.expected
    return Finding(score, diff.summary if passed else diff.to_text(), analyze_step_result=diff)


def _slots_of(run: Run) -> list[Slot]:
    return [Slot((call,)) for call in read_expected_calls(run.expected_tool_calls, "expected_tool_calls")]


def _diff_of_calls(
    run: Run, slots: list[Slot], comparison: Comparison, order: Order, extra: Extra, retries: Retries
) -> ToolCallDiff:
    places = counted_calls(run.tool_calls, retries)
    counted = set(places)
    relation = Relation(slots, [run.tool_calls[place] for place in places], comparison)
    return Aligner(
        relation,
        relation.pairs(order, extra),
        places=places,
        left_out=[(place, call) for place, call in enumerate(run.tool_calls) if place not in counted],
        ordered=order != "any",
        extra=extra,
        contiguous=order == "exact",
    ).diff()


def _diff_of_plan(run: Run, plan: Plan, extra: Extra) -> ToolCallDiff:
    comparison = Comparison()
    relation = Relation(plan.slots, run.tool_calls, comparison)
    fulfilling = fulfilling_pairs(plan, relation, extra)
    if fulfilling is None:
        order = nearest_order(plan, relation, extra)
    else:
        order = [slot for slot, _ in sorted(fulfilling, key=lambda pair: pair[1])]
    aligned = Relation([plan.slots[slot] for slot in order], run.tool_calls, comparison)
    called = {place for place, _ in aligned.pairs("subsequence", extra)}
    # An optional step that was not taken is no part of the diff.
    taken = [slot for place, slot in enumerate(aligned.slots) if slot.required or place in called]
    if len(taken) < len(aligned.slots):
        aligned = Relation(taken, run.tool_calls, comparison)
    return Aligner(
        aligned,
        aligned.pairs("subsequence", extra),
        places=range(len(run.tool_calls)),
        ordered=True,
        extra=extra,
    ).diff()
