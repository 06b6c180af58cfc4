"""Prompt alignment by a judge: does the answer do what the user and the system prompt ask?"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

import msgspec

from referee.errors import OptionError
from referee.pipeline import Scorer, create_scorer
from referee.prompts import Prompt
from referee.runs import Run
from referee.scorers.judging import REASON, ask_reason, judged, require_answer, require_scale, share, transcript
from referee.steps import Asker, NotScorable, Results, asks_judge

#: Whose prompt the answer is held against.
EvaluationMode: TypeAlias = Literal["user", "system", "both"]

USER_WEIGHTS = {"intent": 0.4, "requirements": 0.3, "completeness": 0.2, "appropriateness": 0.1}
SYSTEM_WEIGHTS = {"intent": 0.35, "requirements": 0.35, "completeness": 0.15, "appropriateness": 0.15}
USER_SHARE, SYSTEM_SHARE = 0.7, 0.3

USER = """\
Judge how well the answer does what the user asks. Earlier messages only help to understand the request. Give four numbers \
from 0 (not at all) to 1 (completely):
intent: it takes up what the user really wants.
requirements: it keeps every demand that the user makes. Without demands: 1.
completeness: it leaves out nothing that the user needs.
appropriateness: its form and tone are what the user expects.
{earlier_messages}
{request}
{answer}
"""

SYSTEM = """\
Judge how well the answer obeys the system prompt, the rules that the agent was given. The request only helps to see which \
rules apply. Give four numbers from 0 (not at all) to 1 (completely):
intent: it acts as the role that the system prompt gives the agent.
requirements: it keeps every rule and limit that applies here. If none applies: 1.
completeness: it does all that the system prompt demands of an answer like this.
appropriateness: its form and tone are as the system prompt wants them.
{system_prompt}
{request}
{answer}
"""

_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Alignment(msgspec.Struct, frozen=True):
    """How well the answer does what one prompt asks: four numbers from 0 to 1, and why."""

    reason: str
    intent: _Share
    requirements: _Share
    completeness: _Share
    appropriateness: _Share


class PromptAlignment(msgspec.Struct, frozen=True):
    """The analysis of each prompt; `None` for one that was not judged."""

    user: Alignment | None
    system: Alignment | None


def create_prompt_alignment_scorer_llm(
    model: Asker | str | None = None,
    scale: float = 1,
    evaluation_mode: EvaluationMode = "both",
    include_conversation_history: bool = True,
    *,
    repeats: int = 1,
    id: str = "prompt-alignment-scorer",
) -> Scorer[None, PromptAlignment]:
    """How well the answer does what the user and the system prompt ask.

    For each of the two prompts the judge gives four numbers from 0 to 1: intent, requirements, completeness,
    appropriateness. Each prompt is judged in a question of its own.

    Formula: user = 0.4 intent + 0.3 requirements + 0.2 completeness + 0.1 appropriateness; system = 0.35 intent + 0.35
    requirements + 0.15 completeness + 0.15 appropriateness; both = 0.7 user + 0.3 system. With only one of the prompts
    in the run, its analysis alone is the score. Times `scale`, rounded to two decimals. A number outside 0 to 1 is an
    invalid reply. Not scorable: neither prompt, or an empty answer; the judge is not asked then.

    Bands (`scale` 1): 0.9 to 1 does all that was asked; 0.7 to 0.9 small departures; 0.4 to 0.7 demands are missed; below
    that the answer does something else.

    Not for: truth (`faithfulness`); rules that must each hold (`rubric`: here one broken rule only lowers a mean); gates
    with a small judge (the numbers are its own, not counted from verdicts).

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        scale: The best score, above 0.
        evaluation_mode: `user`, `system` or `both`.
        include_conversation_history: Whether the judge sees the remembered messages of the run, which short requests
            such as "the second one" need.
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: An option is out of its range.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> model = ScriptedModel([
        ...     {"reason": "It answers, but not in one word.",
        ...      "intent": 1, "requirements": 0.5, "completeness": 1, "appropriateness": 1},
        ...     {"reason": "One word was asked for."},
        ... ])
        >>> run = create_agent_test_run(input_messages="Is it open? One word.", output="Yes, it is open.")
        >>> create_prompt_alignment_scorer_llm(Judge(model)).run_sync(run).score
        0.85
    """
    require_scale(scale)
    if evaluation_mode not in get_args(EvaluationMode):
        raise OptionError(f"evaluation_mode must be 'user', 'system' or 'both', not {evaluation_mode!r}")

    @asks_judge
    async def analyze(run: Run, results: Results[None, None]) -> PromptAlignment:
        answer = require_answer(run)
        rules = "\n".join(message.text for message in run.system if message.text.strip())
        for_user = evaluation_mode != "system" and bool(run.user_text.strip())
        for_system = evaluation_mode != "user" and bool(rules)
        if not (for_user or for_system):
            raise NotScorable("the run has no prompt to hold the answer against")
        request = transcript(run.input)
        user = system = None
        if for_user:
            earlier = transcript(run.history) if include_conversation_history else None
            prompt = Prompt(USER, earlier_messages=earlier, request=request, answer=answer)
            user = await results.judge.ask(prompt, Alignment)
        if for_system:
            prompt = Prompt(SYSTEM, system_prompt=rules, request=request, answer=answer)
            system = await results.judge.ask(prompt, Alignment)
        return PromptAlignment(user, system)

    def generate_score(run: Run, results: Results[None, PromptAlignment]) -> float:
        found = results.analyze_step_result
        user, system = _weighted(found.user, USER_WEIGHTS), _weighted(found.system, SYSTEM_WEIGHTS)
        if user is not None and system is not None:
            return share(USER_SHARE * user + SYSTEM_SHARE * system, 1, scale)
        return share(user if system is None else system, 1, scale)  # type: ignore[arg-type]

    @asks_judge
    async def generate_reason(run: Run, results: Results[None, PromptAlignment]) -> str:
        found = results.analyze_step_result
        lines = "\n".join(
            f"{name}: {', '.join(f'{field} {getattr(given, field):g}' for field in USER_WEIGHTS)} ({given.reason})"
            for name, given in (("user prompt", found.user), ("system prompt", found.system))
            if given is not None
        )
        return await ask_reason(
            results.judge, "doing what was asked", results.score, scale, lines, question=run.user_text
        )

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="The answer does what the user and the system prompt ask.", range=(0, scale), judge=model
    )
    built = scorer.analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    options = {
        "scale": scale,
        "evaluation_mode": evaluation_mode,
        "include_conversation_history": include_conversation_history,
        "repeats": repeats,
    }
    return judged(built, "prompt_alignment_llm", options, questions=[USER, SYSTEM, REASON], repeats=repeats)


def _weighted(given: Alignment | None, weights: dict[str, float]) -> float | None:
    """The weighted mean of the numbers; the clamp is against the binary error of a sum of ones."""
    if given is None:
        return None
    numbers: dict[str, float] = msgspec.structs.asdict(given)
    return min(1.0, sum(weight * numbers[field] for field, weight in weights.items()))
