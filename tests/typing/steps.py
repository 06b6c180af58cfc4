"""mypy reads this file: a wrong field of an earlier step is an error (each `type: ignore` below must be needed)."""

from __future__ import annotations

import msgspec

from referee import PromptStep, Results, Run, Score, Scorer, create_scorer, not_scorable
from referee.steps import NotScorable


class Words(msgspec.Struct):
    words: list[str]


class Verdict(msgspec.Struct):
    reason: str
    polite: bool


def split(run: Run) -> Words | NotScorable:
    return Words(run.final_text.split()) if run.final_text else not_scorable("no answer")


def share(run: Run, results: Results[Words, None]) -> float:
    return len(results.preprocess_step_result.words) / 100


def wrong_field(run: Run, results: Results[Words, None]) -> float:
    return len(results.preprocess_step_result.letters)  # type: ignore[attr-defined]


async def judged(run: Run, results: Results[Words, None]) -> Verdict:
    return await results.judge.ask(f"Polite? {run.final_text}", Verdict)


scorer: Scorer[Words, None] = create_scorer(id="share").preprocess(split).generate_score(share)
score: Score = scorer.run_sync(Run(id="r"))

analyzed: Scorer[Words, Verdict] = (
    create_scorer(id="polite")
    .preprocess(split)
    .analyze(judged)
    .generate_score(lambda run, results: results.analyze_step_result.polite)
)
asked: Scorer[None, Verdict] = create_scorer(id="asked").analyze(
    PromptStep(lambda run, results: "Polite?", returns=Verdict)
)

create_scorer(id="wrong").preprocess(split).generate_score(
    lambda run, results: results.preprocess_step_result.letters  # type: ignore[attr-defined]
)
create_scorer(id="other").generate_score(share)  # type: ignore[arg-type]
create_scorer(id="again").preprocess(split).analyze(
    lambda run, results: results.preprocess_step_result.letters  # type: ignore[attr-defined]
)
create_scorer(id="reason").preprocess(split).generate_score(share).generate_reason(
    lambda run, results: results.preprocess_step_result.letters  # type: ignore[attr-defined]
)
