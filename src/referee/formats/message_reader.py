"""Reads the messages that the spans of a trace repeat: what was read before is not read again."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import msgspec

from referee.formats.conversation import check_length
from referee.formats.decoded import Counts, increase
from referee.formats.span_messages import messages_of, structured
from referee.jsonvalue import decode
from referee.messages import Message, Role


class Told(NamedTuple):
    """Messages that were read from flattened fields, these fields, and the highest number in their names."""

    fields: list[tuple[str, Any]]
    last: int
    messages: list[Message]


class MessageReader:
    """Reads the messages of one source. A message that many spans repeat in the same bytes is made once.

    Attributes:
        counts: What was not understood.
        flattened: What was read last of the messages under a prefix, for the reader of flattened messages.

    Example:
        >>> reader = MessageReader(Counts())
        >>> first, again = (reader.from_json('[{"role": "user", "content": "Weather?"}]')[0] for _ in range(2))
        >>> first is again
        True
    """

    def __init__(self, counts: Counts) -> None:
        self.counts = counts
        self._made: dict[bytes, list[Message]] = {}
        self.flattened: dict[str, Told] = {}
        self._kept: dict[Hashable, list[Message]] = {}
        #: Lists that were read of late: the default role, the text up to the last item, and the messages.
        self._begun: deque[tuple[Role, str, list[Message]]] = deque(maxlen=_LATE)

    def from_json(self, value: Any, default: Role = "user", *, or_words: bool = False) -> list[Message]:
        """The messages of an attribute, which holds them as JSON text or as they are.

        Args:
            value: The attribute's value.
            default: The role of a message that names none.
            or_words: Take text that is no JSON as a message; else it is a list that was cut.
        """
        if not isinstance(value, str):
            return messages_of(value, default)
        try:
            return self._list(value, default)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            decoded = structured(value)
            if isinstance(decoded, str) and not or_words:
                # An exporter cuts long attributes, and then they are no JSON.
                increase(self.counts.problems, "messages of a span are no JSON")
                return []
            return messages_of(decoded, default)

    def _list(self, value: str, default: Role) -> list[Message]:
        """The messages of a list's text. Of a list that begins like one before, only what is new is read."""
        known: list[Message] = []
        raws: list[msgspec.Raw] = []
        for role, beginning, messages in reversed(self._begun):
            if role == default and value.startswith(beginning) and value.startswith(",", len(beginning)):
                known, raws = messages, _raw_items(f"[{value[len(beginning) + 1 :]}")
                break
        if not raws:
            known, raws = [], _raw_items(value)
        check_length(raws)
        found = known + [message for raw in raws for message in self._read(bytes(raw), default)]
        if raws:
            self._begun.append((default, value.rstrip().removesuffix("]").rstrip(), found))
        return found

    def _read(self, content: bytes, default: Role) -> list[Message]:
        made = self._made.get(content)
        return self._make(content, decode(content), default) if made is None else made

    def _make(self, content: bytes, message: Any, default: Role) -> list[Message]:
        made = messages_of(message, default)
        if isinstance(message, dict) and "role" in message:  # else it is another one with another default
            self._made[content] = made
        return made

    def from_message(self, value: Any, message: Any, default: Role) -> list[Message]:
        """The messages of one that stands alone, and that lists may repeat.

        Args:
            value: It as it was recorded.
            message: The same, decoded.
            default: Its role when it names none.
        """
        if not isinstance(value, str):
            return messages_of(message, default)
        content = value.encode("utf-8", "surrogatepass")
        made = self._made.get(content)
        return self._make(content, message, default) if made is None else made

    def made_of(self, key: Hashable, make: Callable[[], list[Message]]) -> list[Message]:
        """The messages made of what this key stands for, now or before."""
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = make()
        return found


#: So many lists are remembered: those of the agents that take turns.
_LATE = 8
_raw_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
