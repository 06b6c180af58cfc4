"""Messages in the form of OpenAI chat, which endpoints, commands and LangChain take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from referee.formats import openai_chat
from referee.jsonvalue import decode
from referee.messages import Message
from referee.runs import Run


def chat_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages as OpenAI chat messages, calls and their results included.

    Example:
        >>> from referee.messages import Text
        >>> chat_messages([Message("user", [Text("Hi")])])
        [{'role': 'user', 'content': 'Hi'}]
    """
    listed: list[dict[str, Any]] = decode(openai_chat.encode(Run(output=list(messages))))["messages"]
    return listed
