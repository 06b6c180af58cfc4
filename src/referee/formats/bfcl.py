"""Berkeley Function Calling Leaderboard: questions with their functions and the calls that are right.

A record is no recorded answer: the run has the question as input and no output. The right calls stay in its metadata as
`possible_answer`; `referee.expectations.bfcl_calls` makes expected calls of them.
"""

from __future__ import annotations

from typing import Any

from referee.formats import openai_chat
from referee.formats.conversation import Conversation
from referee.formats.decoded import Decoded, Turns
from referee.formats.fields import text, type_name

NAME = "bfcl"
TITLE = "BFCL questions"

_METADATA = (
    "category",
    "function",
    "possible_answer",
    "involved_classes",
    "initial_config",
    "excluded_function",
    "path",
)


def detect(record: Any) -> bool:
    """Whether a record looks like a question: turns of messages, beside a category."""
    if not isinstance(record, dict) or not isinstance(record.get("category"), str):
        return False
    turns = record.get("question")
    return (
        isinstance(turns, list)
        and bool(turns)
        and all(isinstance(turn, list) and openai_chat.detect(turn) for turn in turns)
    )


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one question."""
    talk = Conversation()
    for turn in record["question"]:
        for message in turn:
            if isinstance(message, dict):
                openai_chat.add_message(talk, message)
            else:
                talk.drop(type_name(message))
    metadata = {name: record[name] for name in _METADATA if name in record}
    return talk.decoded(turns, **({"id": text(record, "id")} if text(record, "id") else {}), metadata=metadata)
