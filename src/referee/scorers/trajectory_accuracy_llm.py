"""Trajectory accuracy by a judge: were the steps necessary, in order, and all that was needed?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from referee.display import cut
from referee.judge.forms import one_for_each
from referee.pipeline import Scorer, create_scorer
from referee.prompts import Listing, Prompt
from referee.runs import Run
from referee.scorers.judging import (
    REASON,
    VerdictMode,
    VerdictQuestion,
    as_text,
    ask_reason,
    judged,
    require_mode,
    transcript,
)
from referee.scores import rounded
from referee.steps import Asker, Consultation, Results, asks_judge
from referee.trajectories import extract_trajectory
from referee.trajectories.expectation import ExpectedStep, plain_expectation, read_expectation
from referee.trajectory import Step

NECESSITY_WEIGHT, ORDER_WEIGHT, COMPLETENESS_WEIGHT = 0.6, 0.3, 0.1
#: The most characters that are shown of one typed field of a step.
_MOST_FIELD = 400

_ABOUT = """\
An agent took the listed steps to serve the request, in this order. Expected steps are the right way, where there are any.
"""

_NECESSARY = """\
yes: it serves the request, or it was a sensible try. no: it is superfluous, a repetition without need, or beside the \
point.
"""

_IN_ORDER = """\
yes: it comes at a sensible place. no: it comes before something that it needs, or too late.
"""

_MISSING = """\
List in missing_steps the steps that should have been taken and were not. If none, the list is empty.
"""

JUDGE = f"""\
{_ABOUT}
Decide for each step whether it was necessary.
{_NECESSARY}
Decide too whether it was in order.
{_IN_ORDER}
{_MISSING}
{{request}}
{{answer}}
{{expected_steps}}
{{steps}}
"""

NECESSARY = VerdictQuestion(
    f"{_ABOUT}\nDecide whether the step was necessary.\n{_NECESSARY}\n{{request}}\n{{expected_steps}}\n{{all_steps}}\n{{step}}\n",
    ("yes", "no"),
    "step",
)

IN_ORDER = VerdictQuestion(
    f"{_ABOUT}\nDecide whether the step was in order.\n{_IN_ORDER}\n{{request}}\n{{expected_steps}}\n{{all_steps}}\n{{step}}\n",
    ("yes", "no"),
    "step",
)

MISSING = f"{_ABOUT}\n{_MISSING}\n{{request}}\n{{expected_steps}}\n{{steps}}\n"


class _Step(msgspec.Struct, frozen=True):
    id: str
    reason: str
    necessary: Literal["yes", "no"]
    in_order: Literal["yes", "no"]


class _Missing(msgspec.Struct, frozen=True):
    missing_steps: list[str]


class _Steps(msgspec.Struct, frozen=True):
    steps: list[_Step]
    missing_steps: list[str]


class StepEvaluation(msgspec.Struct, frozen=True):
    """Whether one step was necessary and in order, and why."""

    step: str
    necessary: bool
    in_order: bool
    reason: str


class JudgedTrajectory(msgspec.Struct, frozen=True):
    """One evaluation for each step taken, in order; the steps that are missing, in words; how many were expected."""

    steps: list[StepEvaluation]
    missing_steps: list[str]
    expected: int


def create_trajectory_accuracy_scorer_llm(
    model: Asker | str | None = None,
    expected_trajectory: Any = None,
    *,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "llm-trajectory-accuracy-scorer",
) -> Scorer[None, JudgedTrajectory]:
    """Whether the steps that the agent took were necessary, in a sensible order, and all that was needed. Gives 0 to 1.

    The judge sees the request, the answer, the steps with their arguments and results, and the expected steps where there
    are any. It says of each step whether it was necessary and in order, and lists what is missing. Steps inside other
    steps are not judged.

    Formula: 0.6 * necessary / steps + 0.3 * in order / steps + 0.1 * (1 - missing / (steps + missing)), rounded to two
    decimals. No steps taken: 1 if none were expected, else 0; the judge is not asked then.

    Bands: 0.9 to 1 the way was right; 0.7 to 0.9 a detour or a step out of order; 0.4 to 0.7 much was superfluous; below
    that the way did not serve the request. A missing step costs little: 0.1 at the very most.

    Not for: a way that is known and must be kept to (`trajectory_accuracy_code`, free and repeatable); a run that lacks
    steps (`tool_call_accuracy_llm` weighs missing tools more); the truth of the answer.

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        expected_trajectory: The expected steps: a list of names or of objects like `{"name": "search", "step_type":
            "tool_call"}`, or `{"steps": [...]}`. Else the run's own `expected_trajectory` is taken.
        verdicts: `json` asks for verdicts with reasons; `logprobs` reads each verdict from token probabilities (what is
            missing is a list, and asked for as JSON).
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: A step or an option is wrong.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run, create_test_message, create_tool_invocation
        >>> model = ScriptedModel([
        ...     {"steps": [
        ...         {"id": "t1", "reason": "Needed.", "necessary": "yes", "in_order": "yes"},
        ...         {"id": "t2", "reason": "Nobody asked for news.", "necessary": "no", "in_order": "yes"},
        ...     ], "missing_steps": []},
        ...     {"reason": "The news were superfluous."},
        ... ])
        >>> calls = [create_tool_invocation(tool_name=name) for name in ("weather", "news")]
        >>> run = create_agent_test_run(
        ...     input_messages="Rain?", output=[create_test_message(role="assistant", tool_invocations=calls)]
        ... )
        >>> create_trajectory_accuracy_scorer_llm(Judge(model)).run_sync(run).score
        0.7
    """
    plain = plain_expectation(expected_trajectory, "expected_trajectory")
    own = read_expectation(plain)
    mode = require_mode(verdicts)

    @asks_judge
    async def analyze(run: Run, results: Results[None, None]) -> JudgedTrajectory:
        wanted = (read_expectation(run.expected_trajectory).steps if own.steps is None else own.steps) or []
        taken = Listing("t", map(_described, extract_trajectory(run).steps))
        if not taken.ids:
            return JudgedTrajectory([], [], len(wanted))
        request, expected = transcript(run.input), _expected_text(wanted)
        if mode == "logprobs":
            evaluations, missing = await _by_probability(results.judge, taken, request, expected)
            return JudgedTrajectory(evaluations, missing, len(wanted))
        prompt = Prompt(JUDGE, request=request, answer=run.final_text, expected_steps=expected, steps=taken)
        reply = await results.judge.ask(prompt, one_for_each(_Steps, steps=taken.ids))
        evaluations = [
            StepEvaluation(step, given.necessary == "yes", given.in_order == "yes", given.reason)
            for step, given in zip(taken.texts, reply.steps)
        ]
        return JudgedTrajectory(evaluations, reply.missing_steps, len(wanted))

    def generate_score(run: Run, results: Results[None, JudgedTrajectory]) -> float:
        found = results.analyze_step_result
        count = len(found.steps)
        if not count:
            return 0.0 if found.expected else 1.0
        necessary = sum(each.necessary for each in found.steps) / count
        in_order = sum(each.in_order for each in found.steps) / count
        complete = 1 - len(found.missing_steps) / (count + len(found.missing_steps))
        return rounded(NECESSITY_WEIGHT * necessary + ORDER_WEIGHT * in_order + COMPLETENESS_WEIGHT * complete)

    @asks_judge
    async def generate_reason(run: Run, results: Results[None, JudgedTrajectory]) -> str:
        found = results.analyze_step_result
        if not found.steps:
            return f"no steps were taken; expected: {found.expected or 'none'}"
        lines = [
            f"{'necessary' if each.necessary else 'superfluous'}, {'in' if each.in_order else 'out of'} order: "
            f"{each.step} ({each.reason})"
            for each in found.steps
        ]
        lines += [f"missing: {each}" for each in found.missing_steps]
        return await ask_reason(results.judge, "its steps", results.score, 1, "\n".join(lines), question=run.user_text)

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="The steps taken were necessary, in order, and all that was needed.", judge=model
    )
    built = scorer.analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    options = {"expected_trajectory": plain, "verdicts": verdicts, "repeats": repeats}
    return judged(
        built,
        "trajectory_accuracy_llm",
        options,
        questions=[JUDGE, NECESSARY, IN_ORDER, MISSING, REASON],
        repeats=repeats,
    )


async def _by_probability(
    judge: Consultation, taken: Listing, request: str, expected: str
) -> tuple[list[StepEvaluation], list[str]]:
    material = {"request": request, "expected_steps": expected}
    necessary, in_order, missing = await asyncio.gather(
        NECESSARY.ask(judge, taken, mode="logprobs", all_steps=taken, **material),
        IN_ORDER.ask(judge, taken, mode="logprobs", all_steps=taken, **material),
        judge.ask(Prompt(MISSING, steps=taken, **material), _Missing),
    )
    evaluations = [
        StepEvaluation(step, needed.verdict == "yes", placed.verdict == "yes", "")
        for step, needed, placed in zip(taken.texts, necessary, in_order)
    ]
    return evaluations, missing.missing_steps


def _described(step: Step) -> str:
    """A step on one line: its name, its type, and its typed fields, long ones cut."""
    fields = [f"{name} {cut(as_text(value), _MOST_FIELD)}" for name, value in step.fields.items() if value is not None]
    return f"{step.name} ({step.step_type or 'step'}){''.join(f'; {field}' for field in fields)}"


def _expected_text(steps: Sequence[ExpectedStep]) -> str:
    described = (Step(name=step.name, step_type=step.step_type, fields=step.fields) for step in steps)
    return str(Listing("e", map(_described, described)))
