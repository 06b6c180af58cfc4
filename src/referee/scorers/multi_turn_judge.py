"""Multi-turn judge: does a whole conversation satisfy one criterion?"""

from __future__ import annotations

from referee.errors import OptionError
from referee.pipeline import Scorer, create_scorer
from referee.prompts import Prompt
from referee.runs import Run
from referee.scorers.judging import (
    Verdict,
    VerdictMode,
    ask_verdict,
    judged,
    require_mode,
    require_scale,
    transcript,
)
from referee.steps import Asker, NotScorable, Results, asks_judge

JUDGE = """\
Decide whether the assistant satisfies the criterion in the conversation as a whole. What one turn lacks, another can \
give; what one turn spoils, a later one can mend, unless the criterion forbids it.
yes: the criterion is satisfied completely.
no: it is not, or only partly.
{conversation}
{criterion}
"""


def create_multi_turn_judge_scorer(
    model: Asker | str | None = None,
    criterion: str = "",
    scale: float = 1,
    *,
    verdicts: VerdictMode = "json",
    repeats: int = 1,
    id: str = "multi-turn-judge-scorer",
) -> Scorer[None, Verdict]:
    """Whether a whole conversation satisfies one criterion in plain words. Gives `scale` or 0.

    The judge reads the transcript: all messages of the run's input and output, with tool calls and their results.

    Formula: satisfied ? `scale` : 0. Not scorable: a run without any text of the assistant; the judge is not asked then.

    Bands: there are two values only. Over many conversations the mean is the share that satisfies the criterion.

    Not for: several criteria in one sentence (use `rubric`, which judges each alone and says which one failed); single
    answers, where `rubric` reads less; conversations longer than the judge can read.

    Args:
        model: A `Judge`, or a model's name; `None` takes the evaluation's, then `REFEREE_MODEL`.
        criterion: What the conversation must satisfy.
        scale: The score of a conversation that satisfies it, above 0.
        verdicts: `json` asks for the verdict with its reason; `logprobs` reads it from token probabilities.
        repeats: How often each run is scored; the score is the median.
        id: Another id than the reference's.

    Raises:
        OptionError: There is no criterion, or an option is out of its range.

    Example:
        >>> from referee.judge import Judge, ScriptedModel
        >>> from referee.testing import create_agent_test_run, create_test_message
        >>> model = ScriptedModel([{"reason": "Paris has no forecast.", "verdict": "no"}])
        >>> answers = [create_test_message(role="assistant", content=text) for text in ("London: rain.", "Paris? Sorry.")]
        >>> scorer = create_multi_turn_judge_scorer(Judge(model), criterion="Gives forecasts for London and Paris.")
        >>> score = scorer.run_sync(create_agent_test_run(input_messages="London? Paris?", output=answers))
        >>> score.score, score.reason
        (0.0, 'not satisfied: Gives forecasts for London and Paris. (Paris has no forecast.)')
    """
    if not isinstance(criterion, str) or not criterion.strip():
        raise OptionError(f"multi_turn_judge: criterion must be a text that is not empty, not {criterion!r}")
    require_scale(scale)
    mode = require_mode(verdicts)

    @asks_judge
    async def analyze(run: Run, results: Results[None, None]) -> Verdict:
        if not run.output_text.strip():
            raise NotScorable("the assistant said nothing")
        conversation = transcript((*run.history, *run.input, *run.output))
        prompt = Prompt(JUDGE, conversation=conversation, criterion=criterion)
        return await ask_verdict(results.judge, prompt, ("yes", "no"), mode=mode)

    def generate_score(run: Run, results: Results[None, Verdict]) -> float:
        return float(scale) if results.analyze_step_result.verdict == "yes" else 0.0

    def generate_reason(run: Run, results: Results[None, Verdict]) -> str:
        found = results.analyze_step_result
        outcome = "satisfied" if found.verdict == "yes" else "not satisfied"
        return f"{outcome}: {criterion.strip()}" + (f" ({found.reason})" if found.reason else "")

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="The conversation as a whole satisfies a criterion.", range=(0, scale), judge=model
    )
    built = scorer.analyze(analyze).generate_score(generate_score).generate_reason(generate_reason)
    options = {"criterion": criterion, "scale": scale, "verdicts": verdicts, "repeats": repeats}
    return judged(built, "multi_turn_judge", options, questions=[JUDGE], repeats=repeats)
