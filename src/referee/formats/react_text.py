"""Tool calls that stand in an agent's text (ReAct), as CrewAI keeps those of models that it asks in plain words."""

from __future__ import annotations

from typing import Any, NamedTuple

from referee.formats.conversation import arguments

_THOUGHT = "Thought:"
_ACTION = "\nAction:"
_INPUT = "\nAction Input:"
_OBSERVATION = "\nObservation:"
_ANSWER = "\nFinal Answer:"


class Told(NamedTuple):
    """What a text tells.

    Attributes:
        thought: What the agent thought before it acted or answered.
        name: The tool that it called; empty when it answered.
        args: The arguments, decoded where they are JSON.
        args_invalid: They are no JSON.
        observed: What the tool gave back; `None` where the text ends before.
        answer: The final answer.
    """

    thought: str
    name: str = ""
    args: Any = None
    args_invalid: bool = False
    observed: str | None = None
    answer: str = ""


def read_react(text: str) -> Told | None:
    """The parts of a text in this form; `None` of any other text.

    Example:
        >>> told = read_react('Thought: Look it up.\\nAction: sky\\nAction Input: {"n": 1}\\nObservation: blue')
        >>> told.thought, told.name, told.args, told.observed
        ('Look it up.', 'sky', {'n': 1}, 'blue')
        >>> read_react("Thought: I know.\\nFinal Answer: Blue.").answer
        'Blue.'
    """
    before, is_action, action = f"\n{text}".partition(_ACTION)
    thought = before.strip().removeprefix(_THOUGHT).strip()
    if is_action:
        name, has_input, rest = action.partition(_INPUT)
        given, is_observed, observed = rest.partition(_OBSERVATION)
        if not has_input or not name.strip():
            return None
        args, invalid = arguments(given.strip())
        return Told(thought, name.strip(), args, invalid, observed.strip() if is_observed else None)
    before, is_answer, answer = before.partition(_ANSWER)
    if not is_answer or not before.strip().startswith(_THOUGHT):
        return None
    return Told(before.strip().removeprefix(_THOUGHT).strip(), answer=answer.strip())
