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
    from referee.scorers.faithfulness import create_faithfulness_scorer
    from referee.scorers.hallucination import create_hallucination_scorer
    from referee.scorers.keyword_coverage import create_keyword_coverage_scorer
    from referee.scorers.multi_turn_judge import create_multi_turn_judge_scorer
    from referee.scorers.noise_sensitivity_llm import create_noise_sensitivity_scorer_llm
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


#: Each factory's module. The key is also the scorer's name for the command line, without `create_` and `_scorer`.
FACTORIES = {
    "create_answer_relevancy_scorer": "answer_relevancy",
    "create_answer_similarity_scorer": "answer_similarity",
    "create_bias_scorer": "bias",
    "create_classifier_scorer": "classifier",
    "create_completeness_scorer": "completeness",
    "create_content_similarity_scorer": "content_similarity",
    "create_context_precision_scorer": "context_precision",
    "create_context_recall_scorer": "context_recall",
    "create_context_relevance_scorer_llm": "context_relevance_llm",
    "create_cost_scorer": "cost",
    "create_duration_scorer": "duration",
    "create_faithfulness_scorer": "faithfulness",
    "create_hallucination_scorer": "hallucination",
    "create_keyword_coverage_scorer": "keyword_coverage",
    "create_multi_turn_judge_scorer": "multi_turn_judge",
    "create_noise_sensitivity_scorer_llm": "noise_sensitivity_llm",
    "create_prompt_alignment_scorer_llm": "prompt_alignment_llm",
    "create_rubric_scorer": "rubric",
    "create_steps_scorer": "steps",
    "create_summarization_scorer": "summarization",
    "create_textual_difference_scorer": "textual_difference",
    "create_tokens_scorer": "tokens",
    "create_tone_scorer": "tone",
    "create_tool_call_accuracy_scorer_code": "tool_call_accuracy_code",
    "create_tool_call_accuracy_scorer_llm": "tool_call_accuracy_llm",
    "create_toxicity_scorer": "toxicity",
    "create_trajectory_accuracy_scorer_code": "trajectory_accuracy_code",
    "create_trajectory_accuracy_scorer_llm": "trajectory_accuracy_llm",
    "create_trajectory_scorer_code": "trajectory_code",
}

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
    "create_faithfulness_scorer",
    "create_hallucination_scorer",
    "create_keyword_coverage_scorer",
    "create_multi_turn_judge_scorer",
    "create_noise_sensitivity_scorer_llm",
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


def __getattr__(name: str) -> Any:
    if name in FACTORIES:
        return getattr(import_module(f"referee.scorers.{FACTORIES[name]}"), name)
    raise AttributeError(f"module 'referee.scorers' has no attribute {name!r}")
