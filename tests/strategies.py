"""Hypothesis strategies for JSON values, messages and runs."""

from __future__ import annotations

from hypothesis import strategies as st

from referee import File, Message, Opaque, Reasoning, Run, Text, ToolCall, ToolResult, Usage

text = st.text(max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
maybe_text = st.none() | text
tool_calls = st.builds(
    ToolCall,
    name=text,
    args=json_values,
    id=maybe_text,
    state=st.sampled_from(["result", "error", "call", "partial", "unknown"]),
    result=json_values,
    error=maybe_text,
    is_error=st.booleans(),
    args_invalid=st.booleans(),
    agent_path=st.lists(text, max_size=2).map(tuple),
    duration_ms=st.none() | st.floats(0, 1e6),
)
parts = st.one_of(
    st.builds(Text, text),
    st.builds(Reasoning, text),
    tool_calls,
    st.builds(ToolResult, json_values, maybe_text, maybe_text, st.booleans()),
    st.builds(File, maybe_text, maybe_text, maybe_text, maybe_text),
    st.builds(Opaque, text, json_values),
)


def messages(roles: tuple[str, ...] = ("user", "assistant", "tool")) -> st.SearchStrategy[list[Message]]:
    """Lists of messages of these roles."""
    return st.lists(
        st.builds(Message, st.sampled_from(roles), st.lists(parts, max_size=3), maybe_text, maybe_text, maybe_text),
        max_size=4,
    )


runs = st.builds(
    Run,
    id=st.text(min_size=1, max_size=8),
    input=messages(("user",)),
    history=messages(),
    system=messages(("system",)),
    output=messages(("assistant", "tool")),
    ground_truth=json_values,
    expected_tool_calls=json_values,
    context=st.none() | st.dictionaries(text, json_values, max_size=2),
    metadata=st.none() | st.dictionaries(text, json_values, max_size=2),
    usage=st.none() | st.builds(Usage, st.none() | st.integers(0, 99), st.none() | st.integers(0, 99)),
    cost=st.none() | st.floats(0, 10),
    model=maybe_text,
)
