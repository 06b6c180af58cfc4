"""A judge that approves of everything: makes a fitting reply to any prompt of the judged scorers from the form it shows."""

from __future__ import annotations

import json
import re
from typing import Any

from referee import Run
from referee.messages import Message, Text, ToolCall

_FORM = "Reply with one JSON object of this form and nothing else: "
_FAVOURABLE = ("yes", "appropriate")


def good_reply(prompt: str) -> str:
    """A fitting reply: favourable verdicts, one entry for each id in the last piece of material."""
    _, found, form = prompt.rpartition(_FORM)
    if not found:
        return "yes" if "Reply with one word" in prompt else "Because."
    return json.dumps(_expanded(json.loads(_example(form)), _ids(prompt)))


def answer(body: dict[str, Any]) -> str:
    """A fitting reply to a request's body."""
    return good_reply(body["messages"][0]["content"])


def _example(form: str) -> str:
    """The sketch of a form as JSON, with one entry in each list."""
    text = re.sub(r'"[^"]*"(?: or "[^"]*")+', _favourable, form)
    text = text.replace("true or false", "true").replace("a whole number", "0").replace("a number", "1")
    return re.sub(r", \.\.\.\](?: \(\d+ in all\))?", "]", text)


def _favourable(options: re.Match[str]) -> str:
    words = re.findall(r'"([^"]*)"', options[0])
    return json.dumps(next((word for word in _FAVOURABLE if word in words), words[0]))


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


#: Arguments that make each judged factory ready for `museum_run`. A new judged scorer needs a line here.
JUDGED: dict[str, dict[str, Any]] = {
    "create_answer_relevancy_scorer": {},
    "create_faithfulness_scorer": {},
    "create_rubric_scorer": {"criteria": "States the price.\nNames the day."},
    "create_tool_call_accuracy_scorer_llm": {"available_tools": [{"name": "search", "description": "Searches"}]},
}
