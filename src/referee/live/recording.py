"""From a call of an agent, what it was given and what it gave, to the run that scorers see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Any

import msgspec

from referee.errors import ReadError
from referee.evaluate.answers import input_messages
from referee.formats import detect_format, to_run
from referee.formats.live import as_record, plain
from referee.jsonvalue import canonical
from referee.messages import Message, Text
from referee.runs import Run

#: Nothing was given as the input of the call.
NO_INPUT: Any = object()


def recorded_run(output: Any, given: Any = NO_INPUT) -> Run:
    """The run of one call.

    Args:
        output: What the agent gave: a text, messages or a result in a readable format, a `Run`, or data, which stands
            as its JSON. Of a whole conversation the last turn is the run and the rest its history.
        given: What it was given: a text or messages. Used where the output does not say what was asked.

    Raises:
        ReadError: The output is an object in no known format, or can't be read.

    Example:
        >>> run = recorded_run("Sunny.", "Weather?")
        >>> run.user_text, run.output_text
        ('Weather?', 'Sunny.')
    """
    run = _answer(output)
    if run.input or given is NO_INPUT:
        return run
    asked = _asked(given)
    if given is output or not (asked.input or asked.history):
        return run
    return msgspec.structs.replace(
        run, input=asked.input, history=[*asked.history, *run.history], system=[*asked.system, *run.system]
    )


def _answer(output: Any) -> Run:
    if isinstance(output, Run):
        return output
    if output is None:
        return Run()
    if isinstance(output, str):
        return Run(output=[Message("assistant", [Text(output)])])
    if isinstance(output, Message):
        return Run(output=[output])
    if _are_messages(output):
        return _last_turn(output)
    record = as_record(output)
    found = detect_format(record)
    if found is not None:
        return to_run(record, found.NAME, turns="last")
    if not _is_data(output):
        raise ReadError(
            f"the agent gave a {type(output).__name__}, which is in no known format: give scored(output=...), "
            "a function that makes text, messages or a Run of it"
        )
    return Run(output=[Message("assistant", [Text(canonical(plain(output)).decode())])])


def _is_data(value: Any) -> bool:
    return (
        isinstance(value, (Mapping, list, tuple, bool, int, float, msgspec.Struct))
        or is_dataclass(value)
        or hasattr(type(value), "model_fields")
    )


def _asked(given: Any) -> Run:
    """The question as a run without output."""
    if isinstance(given, (str, Message)) or _are_messages(given):
        return _last_turn(input_messages(given))
    record = as_record(given)
    found = detect_format(record)
    if found is not None:
        run = to_run(record, found.NAME, turns="last")
        return msgspec.structs.replace(run, output=[]) if run.output else run
    if not _is_data(given):
        raise ReadError(
            f"the agent was given a {type(given).__name__}, which is no text or messages: give scored(input=...), "
            "the name of the parameter with the user's input, or None"
        )
    return _last_turn(input_messages(plain(given)))


def _are_messages(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Message) for entry in value)


def _last_turn(messages: list[Message]) -> Run:
    """The last user message as input, everything before as history and everything after as output."""
    system = [message for message in messages if message.role == "system"]
    talk = [message for message in messages if message.role != "system"]
    last = max((index for index, message in enumerate(talk) if message.role == "user"), default=-1)
    return Run(
        system=system,
        history=talk[: max(last, 0)],
        input=talk[last : last + 1] if last >= 0 else [],
        output=talk[last + 1 :],
    )
