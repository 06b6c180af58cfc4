"""Textual difference: how much of the input and the answer is the same, in the same order?"""

from __future__ import annotations

import msgspec

from referee.pipeline import Scorer, create_scorer
from referee.runs import Run
from referee.steps import Results
from referee.subsequence import common_subsequence_length


class TextualDifference(msgspec.Struct, frozen=True, gc=False):
    """The characters (code points) of the two texts, and of their longest common subsequence."""

    common: int
    input_length: int
    output_length: int


def create_textual_difference_scorer(*, id: str = "textual-difference-scorer") -> Scorer[TextualDifference, None]:
    """The share of characters that the input and the output have in common in the same order, 0 to 1.

    Twice the length of the longest common subsequence, divided by the sum of both lengths. Two empty texts give 1.
    The input is the text of this turn's user messages, the output that of all assistant messages; case and white
    space count. The result is exact; the time grows with the product of the lengths, unless the texts are alike.

    Args:
        id: Another id than the reference's.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> run = create_agent_test_run(input_messages="kitten", output="sitting")
        >>> round(create_textual_difference_scorer().run_sync(run).score, 3)
        0.615
    """

    def preprocess(run: Run) -> TextualDifference:
        asked, given = run.input_text, run.output_text
        return TextualDifference(common_subsequence_length(asked, given), len(asked), len(given))

    def generate_score(run: Run, results: Results[TextualDifference, None]) -> float:
        found = results.preprocess_step_result
        total = found.input_length + found.output_length
        return 2 * found.common / total if total else 1.0

    def generate_reason(run: Run, results: Results[TextualDifference, None]) -> str:
        found = results.preprocess_step_result
        return (
            f"{found.common:,} characters in common, in order, of {found.input_length:,} in the input "
            f"and {found.output_length:,} in the output"
        )

    scorer: Scorer[None, None] = create_scorer(id=id, description="The answer is the input's text, in its order.")
    built = scorer.preprocess(preprocess).generate_score(generate_score).generate_reason(generate_reason)
    return built.as_kind("textual_difference", {})
