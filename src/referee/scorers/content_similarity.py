"""Content similarity: do the input and the answer use the same characters side by side?"""

from __future__ import annotations

from referee.jsonvalue import require_flag
from referee.pipeline import Scorer, create_scorer
from referee.runs import Run
from referee.steps import Results
from referee.text import dice, without_spaces


def create_content_similarity_scorer(
    ignore_case: bool = True, ignore_whitespace: bool = True, *, id: str = "content-similarity-scorer"
) -> Scorer[None, None]:
    """The Dice coefficient of the input's and the output's adjacent character pairs, 0 to 1.

    The input is the text of this turn's user messages, the output that of all assistant messages. Equal texts, two
    empty ones too, give 1; otherwise a side of fewer than 2 characters gives 0. The order of the words hardly matters.
    Source: L. R. Dice, "Measures of the Amount of Ecologic Association Between Species", 1945, on character pairs.

    Args:
        ignore_case: Fold case.
        ignore_whitespace: Remove all white space; otherwise it counts as characters.
        id: Another id than the reference's.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> run = create_agent_test_run(input_messages="Deep Water", output="deepwater")
        >>> create_content_similarity_scorer().run_sync(run).score
        1.0
    """

    def prepared(text: str) -> str:
        text = without_spaces(text) if ignore_whitespace else text
        return text.casefold() if ignore_case else text

    def generate_score(run: Run) -> float:
        return dice(prepared(run.input_text), prepared(run.output_text))

    def generate_reason(run: Run, results: Results[None, None]) -> str:
        return f"{results.score:.0%} of the character pairs of input and output are the same"

    scorer: Scorer[None, None] = create_scorer(id=id, description="The answer's characters are those of the input.")
    built = scorer.generate_score(generate_score).generate_reason(generate_reason)
    options = {"ignore_case": ignore_case, "ignore_whitespace": ignore_whitespace}
    for option, value in options.items():
        require_flag(value, f"content_similarity: {option}")
    return built.as_kind("content_similarity", options)
