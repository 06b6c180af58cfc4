"""No reader takes more than 20 times its input and 64 MB, whatever it is given: also millions of empty values.

What a value takes does not depend on how many there are. So the test is made with little input and a free amount that
is smaller in the same measure.
"""

from __future__ import annotations

import io
import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from referee import read_runs
from referee.formats import conversation, json_text, sources
from test_formats_messages_fuzz import WORDS

#: By so much the input and all that is free are smaller than in life.
SCALE = 128
FREE = 64 * 1024 * 1024 // SCALE
#: What reading takes whatever the input: buffers, caches.
FIXED = 200_000

SPAN = '{"span_id":"a","trace_id":"t","attributes":'
CHAT = '{"gen_ai.operation.name":"chat","gen_ai.input.messages":'
#: Where a format keeps a list: the format, what stands before the items and after them; `text` is JSON in text.
PLACES: dict[str, tuple[str | None, str, str]] = {
    "list": (None, "[", "]"),
    "chat": ("openai_chat", '{"messages":[', "]}"),
    "chat content": ("openai_chat", '{"messages":[{"role":"user","content":[', "]}]}"),
    "chat calls": ("openai_chat", '{"messages":[{"role":"assistant","tool_calls":[', "]}]}"),
    "responses": ("openai_responses", '{"object":"response","output":[', "]}"),
    "anthropic": ("anthropic", '{"messages":[', "]}"),
    "anthropic content": ("anthropic", '{"messages":[{"role":"user","content":[', "]}]}"),
    "gemini": ("gemini", '{"contents":[', "]}"),
    "gemini parts": ("gemini", '{"contents":[{"parts":[', "]}]}"),
    "mastra": ("mastra", '{"input":{"inputMessages":[]},"output":[', "]}"),
    "mastra parts": ("mastra", '{"messages":[{"role":"assistant","content":{"format":2,"parts":[', "]}}]}"),
    "langchain": ("langchain", '{"messages":[', "]}"),
    "pydantic": ("pydantic_ai", '[{"kind":"request","parts":[', "]}]"),
    "agents": ("openai_agents", '{"input":"","new_items":[', "]}"),
    "autogen": ("autogen", '{"messages":[', "]}"),
    "crew": ("crewai", '{"raw":"","tasks_output":[{"messages":[', "]}]}"),
    "otlp": ("otel", '{"resourceSpans":[{"scopeSpans":[{"spans":[', "]}]}]}"),
    "attributes": ("otel", f"{SPAN}[", "]}"),
    "events": ("otel", f'{SPAN}{{}},"events":[', "]}"),
    "genai": ("otel", f"{SPAN}{CHAT}[", "]}}"),
    "genai text": ("otel", f'{SPAN}{CHAT}"[', ']"}}'),
    "langfuse": ("langfuse", '{"trace":{"id":"t"},"observations":[', "]}"),
    "agents trace": ("openai_agents_trace", '{"spans":[', "]}"),
    "adk": ("adk", '{"id":"s","app_name":"a","user_id":"u","events":[', "]}"),
    "inspect": ("inspect_log", '{"status":"","eval":{"task":""},"samples":[{"messages":[', "]}]}"),
    "inspect events": ("inspect_log", '{"status":"","eval":{"task":""},"samples":[{"messages":[],"events":[', "]}]}"),
}
EMPTY = st.sampled_from([{}, [], 0, "", "ab", None, {"": 0}, [0], {"role": "user"}, {"type": "text"}, {"role": "tool"}])
SMALL = st.dictionaries(WORDS, WORDS | EMPTY, max_size=2)
SPANS = st.sampled_from([{"span_id": "", "attributes": {}}, {"object": "trace.span", "span_data": {}}])


def peak_of(content: bytes, format: str | None) -> int:
    """What Python allocates at most while the content is read."""
    tracemalloc.start()
    try:
        list(read_runs(io.BytesIO(content), format, on_error="collect"))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(autouse=True, scope="module")
def everything_is_smaller() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "FREE_BYTES", json_text.FREE_BYTES // SCALE)
        patch.setattr(json_text, "_LARGE", json_text._LARGE // SCALE)
        patch.setattr(conversation, "MOST_MESSAGES", conversation.MOST_MESSAGES // SCALE)
        patch.setattr(sources, "MAX_ERRORS_KEPT", sources.MAX_ERRORS_KEPT // SCALE)
        yield


@pytest.mark.parametrize("place", PLACES)
@settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(item=EMPTY | SMALL | SPANS)
def test_many_small_values(place: str, item: Any) -> None:
    reader, before, after = PLACES[place]
    written = json.dumps(item, separators=(",", ":"))
    if before.endswith('"['):
        written = json.dumps(written)[1:-1]
    count = 100_000 // (len(written) + 1)
    content = f"{before}{','.join([written] * count)}{after}".encode()
    peak_of(f"{before}{written}{after}".encode(), reader)  # imports its modules
    assert peak_of(content, reader) < 20 * len(content) + FREE + FIXED, (place, item)
