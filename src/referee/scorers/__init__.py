"""Ready-made scorers beyond the quick checks. Each factory `create_..._scorer` returns a `Scorer`."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from referee.scorers.answer_relevancy import create_answer_relevancy_scorer
    from referee.scorers.answer_similarity import create_answer_similarity_scorer
    from referee.scorers.bias import create_bias_scorer
    from referee.scorers.classifier import create_classifier_scorer
    from referee.scorers.completeness import create_completeness_scorer
    from referee.scorers.content_similarity import create_content_similarity_scorer
    from referee.scorers.context_precision import create_context_precision_scorer
    from referee.scorers.context_recall import create_context_recall_scorer
    from referee.scorers.context_relevance_llm import create_context_relevance_scorer_llm
    from referee.scorers.cost import create_cost_scorer
    from referee.scorers.duration import create_duration_scorer
    from referee.scorers.embedding_similarity import create_embedding_similarity_scorer
    from referee.scorers.faithfulness import create_faithfulness_scorer
    from referee.scorers.hallucination import create_hallucination_scorer
    from referee.scorers.keyword_coverage import create_keyword_coverage_scorer
    from referee.scorers.multi_turn_judge import create_multi_turn_judge_scorer
    from referee.scorers.noise_sensitivity_llm import create_noise_sensitivity_scorer_llm
    from referee.scorers.pairwise import create_pairwise_scorer
    from referee.scorers.prompt_alignment_llm import create_prompt_alignment_scorer_llm
    from referee.scorers.rubric import create_rubric_scorer
    from referee.scorers.steps import create_steps_scorer
    from referee.scorers.summarization import create_summarization_scorer
    from referee.scorers.textual_difference import create_textual_difference_scorer
    from referee.scorers.tokens import create_tokens_scorer
    from referee.scorers.tone import create_tone_scorer
    from referee.scorers.tool_call_accuracy_code import create_tool_call_accuracy_scorer_code
    from referee.scorers.tool_call_accuracy_llm import create_tool_call_accuracy_scorer_llm
    from referee.scorers.toxicity import create_toxicity_scorer
    from referee.scorers.trajectory_accuracy_code import create_trajectory_accuracy_scorer_code
    from referee.scorers.trajectory_accuracy_llm import create_trajectory_accuracy_scorer_llm
    from referee.scorers.trajectory_code import create_trajectory_scorer_code


__all__ = [
    "create_answer_relevancy_scorer",
    "create_answer_similarity_scorer",
    "create_bias_scorer",
    "create_classifier_scorer",
    "create_completeness_scorer",
    "create_content_similarity_scorer",
    "create_context_precision_scorer",
    "create_context_recall_scorer",
    "create_context_relevance_scorer_llm",
    "create_cost_scorer",
    "create_duration_scorer",
    "create_embedding_similarity_scorer",
    "create_faithfulness_scorer",
    "create_hallucination_scorer",
    "create_keyword_coverage_scorer",
    "create_multi_turn_judge_scorer",
    "create_noise_sensitivity_scorer_llm",
    "create_pairwise_scorer",
    "create_prompt_alignment_scorer_llm",
    "create_rubric_scorer",
    "create_steps_scorer",
    "create_summarization_scorer",
    "create_textual_difference_scorer",
    "create_tokens_scorer",
    "create_tone_scorer",
    "create_tool_call_accuracy_scorer_code",
    "create_tool_call_accuracy_scorer_llm",
    "create_toxicity_scorer",
    "create_trajectory_accuracy_scorer_code",
    "create_trajectory_accuracy_scorer_llm",
    "create_trajectory_scorer_code",
]


def short_name(factory: str) -> str:
    """A factory's short name: its module here, and the scorer's name for the command line.

    Example:
        >>> short_name("create_tool_call_accuracy_scorer_code"), short_name("create_completeness_scorer")
        ('tool_call_accuracy_code', 'completeness')
    """
    return factory.removeprefix("create_").replace("_scorer_", "_").removesuffix("_scorer")


#: Each factory's short name.
FACTORIES = {factory: short_name(factory) for factory in __all__}


def __getattr__(name: str) -> Any:
    if name in FACTORIES:
        return getattr(import_module(f"referee.scorers.{FACTORIES[name]}"), name)
    raise AttributeError(f"module 'referee.scorers' has no attribute {name!r}")
