"""OpenAI Agents SDK: `new_items`, run states, raw responses, and live results and run states.

`to_input_list` gives items of the Responses API. It turns results that are objects into Python's text for them;
`new_items` and run states keep them.
"""

from __future__ import annotations

from typing import Any

from referee.formats import openai_responses
from referee.formats.conversation import Conversation
from referee.formats.decoded import Decoded, Turns
from referee.formats.fields import mapping, objects, sequence, text, total, type_name
from referee.formats.live import plain
from referee.formats.record import run_fields, usage_of

NAME = "openai_agents"
TITLE = "OpenAI Agents SDK"

#: An item that asks for a call that is listed already, as an item of its own.
_REPEATS = "tool_approval_item"


def detect(record: Any) -> bool:
    """Whether a record looks like run items, a run state or raw responses."""
    if isinstance(record, list):
        return bool(record) and (all(map(_is_item, record)) or all(map(_is_response, record)))
    if not isinstance(record, dict):
        return False
    return _is_state(record) or _is_item(record) or (isinstance(record.get("new_items"), list) and "input" in record)


def _is_item(item: Any) -> bool:
    kind = item.get("type") if isinstance(item, dict) else None
    return isinstance(kind, str) and kind.endswith("_item") and isinstance(item.get("raw_item"), dict)


def _is_response(response: Any) -> bool:
    return (
        isinstance(response, dict)
        and isinstance(response.get("output"), list)
        and "response_id" in response
        and isinstance(response.get("usage"), dict)
    )


def _is_state(record: dict[str, Any]) -> bool:
    return "original_input" in record and isinstance(record.get("generated_items"), list)


def record_of(obj: Any) -> Any:
    """The record that a live result, run state, item or list of items is."""
    if isinstance(obj, list):
        return [record_of(item) for item in obj]
    if hasattr(obj, "new_items") and hasattr(obj, "input"):
        return {
            "input": plain(obj.input),
            "new_items": [_item_record(item) for item in obj.new_items],
            "usages": [plain(response.usage) for response in obj.raw_responses],
        }
    if hasattr(obj, "raw_item"):
        return _item_record(obj)
    return plain(obj.to_json() if hasattr(obj, "to_json") else obj)


def _item_record(item: Any) -> dict[str, Any]:
    output = getattr(item, "output", None)
    return {
        "type": item.type,
        "agent": {"name": getattr(item.agent, "name", None)},
        "raw_item": plain(item.raw_item),
        "output": plain(output) if output is not None else None,
    }


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read one record of any of the shapes named above; also items of `to_input_list`."""
    talk = Conversation()
    if isinstance(record, list):
        if record and all(map(_is_response, record)):
            return talk.decoded(turns, **_add_responses(talk, record))
        _add_items(talk, record)
        return talk.decoded(turns)
    if not isinstance(record, dict):
        _add_items(talk, [record])
        return talk.decoded(turns)
    if _is_state(record):
        fields = _add_state(talk, record, turns)
    elif isinstance(record.get("new_items"), list):
        openai_responses.add_input(talk, record.get("input"))
        fields = _history(talk, turns) | run_fields(record)
        usage = total([usage_of(usage) for usage in objects(record.get("usages"))])
        if usage is not None:
            fields.setdefault("usage", usage)
        _add_items(talk, record["new_items"])
    else:
        fields = {}
        _add_items(talk, [record])
    return talk.decoded(turns, **fields)


def _add_state(talk: Conversation, state: dict[str, Any], turns: Turns) -> dict[str, Any]:
    """A run state: the input and what was generated. `session_items` is the whole of it where it is kept."""
    openai_responses.add_input(talk, state["original_input"])
    fields = _history(talk, turns)
    _add_items(talk, sequence(state.get("session_items")) or state["generated_items"])
    for ours, value in (
        ("trace_id", text(mapping(state.get("trace")), "id")),
        ("thread_id", text(state, "conversation_id")),
    ):
        if value:
            fields[ours] = value
    usage = mapping(mapping(state.get("context")).get("usage"))
    if usage:
        fields["usage"] = usage_of(usage)
    return fields


def _history(talk: Conversation, turns: Turns) -> dict[str, Any]:
    """Of an input that has earlier answers, all before the messages that the user sent last is history."""
    start = len(talk.messages)
    while start and talk.messages[start - 1].role == "user":
        start -= 1
    if turns == "split" or start == len(talk.messages):
        return {}
    return {"history": talk.take_history(start)}


def _add_responses(talk: Conversation, responses: list[dict[str, Any]]) -> dict[str, Any]:
    for response in responses:
        openai_responses.add_items(talk, response["output"])
        talk.answering = False
    usage = total([usage_of(response["usage"]) for response in responses])
    return {"usage": usage} if usage is not None else {}


def _add_items(talk: Conversation, items: list[Any]) -> None:
    for item in items:
        if not isinstance(item, dict):
            talk.drop(type_name(item))
        elif not _is_item(item):
            openai_responses.add_item(talk, item)
        elif item["type"] == _REPEATS:
            talk.tool_message()
        else:
            _add_item(talk, item)


def _add_item(talk: Conversation, item: dict[str, Any]) -> None:
    raw, agent = item["raw_item"], item.get("agent")
    speaker = text(agent, "name") if isinstance(agent, dict) else agent if isinstance(agent, str) else None
    if str(raw.get("type")).endswith("_output"):
        output = item.get("output")
        talk.tool_message()
        openai_responses.add_output(talk, raw, output if output is not None else openai_responses.output_of(raw))
    else:
        openai_responses.add_item(talk, raw, speaker)
