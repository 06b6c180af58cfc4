"""Judges that approve or disapprove of everything: they make a fitting reply to any prompt of the judged scorers from its form."""

from __future__ import annotations

import json
import re
from typing import Any

from cases_of_scorers import FILES
from referee import Run
from referee.messages import Message, Text, ToolCall

_FORM = "Reply with one JSON object of this form and nothing else: "
#: Words that a verdict can be, the first that is offered is taken.
_FAVOURABLE = ("yes", "appropriate", "exact", "high", "none", "first")
_UNFAVOURABLE = ("no", "inappropriate", "missing", "severe", "none", "first")
#: Lists of faults: an approving judge leaves them empty.
_FAULTS = re.compile(r'"(?:missing\w*|extra|contradictions|major_issues)": \["\.\.\."\]')


def good_reply(prompt: str) -> str:
    """A fitting reply: favourable verdicts, one entry for each id in the last piece of material."""
    return _reply(prompt, _FAVOURABLE, "1")


def bad_reply(prompt: str) -> str:
    """A fitting reply: unfavourable verdicts, one entry for each id in the last piece of material."""
    return _reply(prompt, _UNFAVOURABLE, "0")


def answer(body: dict[str, Any]) -> str:
    """A fitting reply to a request's body."""
    return good_reply(body["messages"][0]["content"])


def _reply(prompt: str, verdicts: tuple[str, ...], number: str) -> str:
    _, found, form = prompt.rpartition(_FORM)
    if not found:
        return verdicts[0] if "Reply with one word" in prompt else "Because."
    example = _example(form, verdicts, number)
    if verdicts is _FAVOURABLE:
        example = _FAULTS.sub(lambda fault: fault[0].replace('"..."', ""), example)
    return json.dumps(_expanded(json.loads(example), _ids(prompt)))


def _example(form: str, verdicts: tuple[str, ...], number: str) -> str:
    """The sketch of a form as JSON, with one entry in each list."""

    def chosen(options: re.Match[str]) -> str:
        words = re.findall(r'"([^"]*)"', options[0])
        return json.dumps(next((word for word in verdicts if word in words), words[0]))

    text = re.sub(r'"[^"]*"(?: or "[^"]*")+', chosen, form)
    text = text.replace("true or false", "true").replace("a whole number", number).replace("a number", number)
    return re.sub(r", \.\.\.\](?: \(\d+ in all\))?", "]", text)


def _ids(prompt: str) -> list[str]:
    blocks: list[tuple[str, str]] = re.findall(r"<<<(\w[^\n]*)>>>\n(.*?)\n<<<end \1>>>", prompt, re.S)
    return list(dict.fromkeys(re.findall(r"(?m)^(?:assistant calls )?([a-z]\d+): ", blocks[-1][1]))) if blocks else []


def _expanded(example: Any, ids: list[str]) -> Any:
    if isinstance(example, dict):
        return {name: _expanded(value, ids) for name, value in example.items()}
    if isinstance(example, list) and example and isinstance(example[0], dict) and "id" in example[0]:
        return [{**example[0], "id": each} for each in ids]
    if isinstance(example, list) and example == ["..."]:
        return ["The museum is free on Sunday.", "It opens at nine."]
    return example


def museum_run(
    answer: str = "The museum is free on Sunday. It opens at nine.", question: str = "What does it cost?"
) -> Run:
    """A run with two tool calls, results, and an answer."""
    calls = [
        ToolCall(
            name="search", args={"query": "museum"}, id="k1", state="result", result="Sundays: free entry. Opens 9:00."
        ),
        ToolCall(name="prices", args={"day": "Sunday"}, id="k2", state="result", result={"price": 0}),
    ]
    return Run(
        id="museum",
        input=[Message("user", [Text(question)])],
        output=[Message("assistant", [*calls, Text(answer)])],
        ground_truth="It is free on Sunday.",
    )


#: Arguments that make each judged factory ready for `museum_run`: of the factories of the vectors, and of those with a
#: case file of their own.
JUDGED: dict[str, dict[str, Any]] = {
    "create_answer_relevancy_scorer": {},
    "create_answer_similarity_scorer": {},
    "create_bias_scorer": {},
    "create_context_precision_scorer": {},
    "create_context_recall_scorer": {},
    "create_context_relevance_scorer_llm": {},
    "create_faithfulness_scorer": {},
    "create_hallucination_scorer": {},
    "create_multi_turn_judge_scorer": {"criterion": "States the price."},
    "create_noise_sensitivity_scorer_llm": {
        "baseline_response": "Free on Sunday.",
        "noisy_query": "Price? My cat is ill.",
    },
    "create_prompt_alignment_scorer_llm": {},
    "create_rubric_scorer": {"criteria": "States the price.\nNames the day."},
    "create_summarization_scorer": {},
    "create_tool_call_accuracy_scorer_llm": {"available_tools": [{"name": "search", "description": "Searches"}]},
    "create_toxicity_scorer": {},
    "create_trajectory_accuracy_scorer_llm": {},
    **{file["factory"]: file["museum"]["kwargs"] for file in FILES},
}
#: Scores under an approving and a disapproving judge where they are not 1 and 0.
SCORES: dict[str, tuple[float, float]] = {
    # One step taken and two missing ones: 0.1 * (1 - 2 / 3).
    "create_trajectory_accuracy_scorer_llm": (1.0, 0.03),
    **{file["factory"]: tuple(file["museum"]["scores"]) for file in FILES},
}
#: Factories whose replies have no list with an entry for each id, so that no entry can be missing or unknown.
WITHOUT_LISTS = frozenset(
    {
        "create_multi_turn_judge_scorer",
        "create_prompt_alignment_scorer_llm",
        *(file["factory"] for file in FILES if not file["lists"]),
    }
)
#: Factories whose replies have no word of a fixed set.
WITHOUT_WORDS = frozenset({"create_prompt_alignment_scorer_llm"})
#: Factories whose replies have a number.
WITH_NUMBERS = frozenset({"create_noise_sensitivity_scorer_llm", "create_prompt_alignment_scorer_llm"})
