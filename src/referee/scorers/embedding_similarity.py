"""Embedding similarity: how near is the answer to the right answer in meaning, by an embedding model?"""

from __future__ import annotations

import asyncio

from referee.errors import OptionError
from referee.judge import Judge
from referee.judge.embeddings import Embedding, EmbeddingModel, cosine
from referee.pipeline import Scorer, create_scorer
from referee.runs import Run
from referee.scorers.judging import require_answer, require_ground_truth
from referee.steps import Asker, Results, asks_judge


def create_embedding_similarity_scorer(
    model: Asker | str | None = None, expected: str | None = None, *, id: str = "embedding-similarity-scorer"
) -> Scorer[None, None]:
    """How near the answer is to the right answer in meaning, by an embedding model. Gives 0 to 1.

    Both texts are turned into vectors. No judge is asked, so it costs little, and the same texts give the same number.

    Formula: the cosine of the two vectors; 0 if it is negative; not rounded. Not scorable: an empty answer, or no right
    answer.

    Bands: they depend on the model. With most models unrelated texts are at 0.1 to 0.3 (with some at 0.7), the same in
    other words at 0.7 to 0.95. Look at scores of right and wrong answers before you set a threshold.

    Not for: facts. "It opens at nine" and "it opens at ten", or a sentence and its negation, are near each other: see
    `answer_similarity`. Long answers are near every text about the same subject.

    Args:
        model: The embedding model's name, `provider/model`; `None` takes `REFEREE_EMBEDDING_MODEL`. Or
            `Judge(EmbeddingModel(...))` (`referee.judge.embeddings`) with an address, a cache or limits of your own.
        expected: The right answer; `None` takes the run's ground truth.
        id: Another id.

    Raises:
        OptionError: There is no model, or an option is wrong.
        MissingExtraError: The extra `judge` is not installed.

    Example:
        >>> from referee.judge import ScriptedModel
        >>> from referee.testing import create_agent_test_run
        >>> model = Judge(ScriptedModel([{"vector": [1.0, 0.0]}, {"vector": [0.6, 0.8]}]))
        >>> run = create_agent_test_run(output="It leaves at nine.", ground_truth="The departure is at nine.")
        >>> create_embedding_similarity_scorer(model).run_sync(run).score
        0.6
    """
    if expected is not None and (not isinstance(expected, str) or not expected.strip()):
        raise OptionError(f"embedding_similarity: expected must be a text that is not empty, not {expected!r}")
    embedder = Judge(EmbeddingModel(model)) if model is None or isinstance(model, str) else model

    @asks_judge
    async def generate_score(run: Run, results: Results[None, None]) -> float:
        texts = require_answer(run), require_ground_truth(run) if expected is None else expected
        answer, right = await asyncio.gather(*(results.judge.ask(text, Embedding) for text in texts))
        return max(0.0, cosine(answer, right))

    def generate_reason(run: Run, results: Results[None, None]) -> str:
        return f"the cosine of the embeddings of the answer and the right answer is {results.score:.2f}"

    scorer: Scorer[None, None] = create_scorer(
        id=id, description="The answer is near the right answer in meaning.", judge=embedder
    )
    built = scorer.generate_score(generate_score).generate_reason(generate_reason)
    return built.as_kind(
        "embedding_similarity", {"model": model if isinstance(model, str) else None, "expected": expected}
    )
