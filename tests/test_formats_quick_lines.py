"""The quick way through plain OpenAI chat lines gives what the long way gives, and knows what the run would work out."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from referee.formats.openai_chat import decode, decode_line

TEXTS = st.sampled_from([None, "", " ", "Hi.", "two\nlines", "[draft", '{"error": "no seat"}', "[1, 2]"])
COUNTS = st.sampled_from(
    ["prompt_tokens", "completion_tokens", "total_tokens", "input_tokens", "outputTokens", "totalTokens", "other"]
)
TOKENS: st.SearchStrategy[Any] = st.sampled_from([0, 3, -1, 7.0, True, "3", None, {}])


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """Plain records: calls with and without results, repeated ids, blank texts, arguments that are no JSON, tokens."""
    messages: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 6))):
        role = draw(st.sampled_from(["system", "developer", "user", "assistant", "assistant", "tool"]))
        message: dict[str, Any] = {"role": role, "content": draw(TEXTS)}
        if role == "tool":
            message["tool_call_id"] = draw(st.sampled_from(["a", "b", "c"]))
        if role == "assistant" and draw(st.booleans()):
            message["tool_calls"] = [
                {
                    "id": draw(st.sampled_from(["a", "b", "c"])),
                    "function": {
                        "name": draw(st.sampled_from(["find", "book", ""])),
                        "arguments": draw(st.sampled_from(["{}", '{"n": 1}', "{cut", ""])),
                    },
                }
                for _ in range(draw(st.integers(1, 3)))
            ]
        messages.append(message)
    record: dict[str, Any] = {"messages": messages}
    if draw(st.booleans()):
        record |= {"id": draw(st.sampled_from(["r1", "", None])), "model": "m"}
    if draw(st.booleans()):
        record["usage"] = draw(st.none() | st.dictionaries(COUNTS, TOKENS, max_size=4))
    if draw(st.booleans()):
        arguments = draw(st.sampled_from([{"n": 1}, '{"n": 1}', "", "{cut", None, 4]))
        record["expected"] = {"tool_calls": [{"name": "find", "arguments": arguments}]}
    return record


@given(records(), st.sampled_from(["all", "last", "split"]))
def test_the_quick_and_the_long_way_agree(record: dict[str, Any], turns: Any) -> None:
    quick = decode_line(json.dumps(record).encode(), turns)
    if quick is None:
        return
    long = decode(record, turns)
    assert quick.runs == long.runs
    assert quick.counts == long.counts
    for run in quick.runs:
        afresh = msgspec.structs.replace(run)
        assert run.output_text == afresh.output_text
        assert run.invocations == afresh.invocations
        assert run.tool_calls == afresh.tool_calls
        assert run.tool_names == afresh.tool_names


@given(records())
def test_most_plain_records_take_the_quick_way(record: dict[str, Any]) -> None:
    names = [call["function"] for message in record["messages"] for call in message.get("tool_calls", ())]
    if "usage" in record:
        record["usage"] = {"prompt_tokens": 900, "completion_tokens": 80, "prompt_tokens_details": {"cached_tokens": 1}}
    plain = all(each["name"] and each["arguments"] in ("{}", '{"n": 1}') for each in names)
    if plain and not any(message["role"] == "tool" for message in record["messages"]):
        assert decode_line(json.dumps(record).encode()) is not None
