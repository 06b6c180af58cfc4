"""Recorded traces scored afterwards: their scores stand beside their traces and spans, and beside those of live scoring."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from referee import checks, to_run
from referee.cli import main
from referee.live import Live
from referee.storage import Store
from referee.storage.recorded_runs import RunFilter

WAIT = 60.0


def said(role: str, *parts: dict[str, Any]) -> str:
    return json.dumps([{"role": role, "parts": list(parts)}])


def recorded(city: str, tracer: trace.Tracer) -> None:
    """What an instrumented agent records of one request."""
    call = {"type": "tool_call", "id": f"c-{city}", "name": "forecast", "arguments": {"city": city}}
    answer = {"type": "text", "content": f"It is sunny in {city}."}
    of_agent = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "weather",
        "gen_ai.input.messages": said("user", {"type": "text", "content": f"Weather in {city}?"}),
        "gen_ai.output.messages": said("assistant", call, answer),
    }
    of_tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "forecast",
        "gen_ai.tool.call.id": f"c-{city}",
        "gen_ai.tool.call.arguments": json.dumps({"city": city}),
        "gen_ai.tool.call.result": json.dumps({"sky": "clear"}),
    }
    with (
        tracer.start_as_current_span("invoke_agent weather", attributes=of_agent),
        tracer.start_as_current_span("execute_tool forecast", attributes=of_tool),
    ):
        pass


def with_hexadecimal_ids(value: Any) -> Any:
    """OTLP's JSON has the ids of traces and spans in hexadecimal, where JSON of Protocol Buffers has Base64."""
    if isinstance(value, list):
        return [with_hexadecimal_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64decode(item).hex()
        if key in ("traceId", "spanId", "parentSpanId")
        else with_hexadecimal_ids(item)
        for key, item in value.items()
    }


@pytest.fixture
def spans(tmp_path: Path) -> tuple[Path, list[ReadableSpan]]:
    """A file of traces in OTLP's JSON, and the spans of the agent in it."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    for city in ("Ghent", "Rome"):
        recorded(city, provider.get_tracer("tests"))
    finished = exporter.get_finished_spans()
    file = tmp_path / "traces.otlp.json"
    file.write_text(json.dumps(with_hexadecimal_ids(MessageToDict(encode_spans(finished)))))
    return file, [span for span in finished if span.name == "invoke_agent weather"]


def test_recorded_traces_are_scored_beside_their_traces_and_spans(
    spans: tuple[Path, list[ReadableSpan]], tmp_path: Path
) -> None:
    file, agents = spans
    url = str(tmp_path / "scores.db")
    words = ["score", str(file), "-s", "checks.includes=sunny", "-s", "checks.called_tool=forecast", "--store", url]
    for _ in range(2):  # the second time changes nothing
        done = CliRunner().invoke(main, words)
        assert done.exit_code == 0, done.output
    with Store(url) as store:
        assert store.scores.count().count == 4
        for span in agents:
            assert span.context is not None
            [row] = store.runs.page(RunFilter(trace=format(span.context.trace_id, "032x"))).rows
            stored = store.runs.get(row.number)
            assert stored.run.span_id == format(span.context.span_id, "016x")
            assert [(call.name, call.state) for call in stored.run.tool_calls] == [("forecast", "result")]
            assert {(score.scorer, score.value) for score in stored.scores} == {
                ("check-includes", 1.0),
                ("check-called-tool", 1.0),
            }


def test_a_trace_that_was_scored_live_has_both_scores(spans: tuple[Path, list[ReadableSpan]], tmp_path: Path) -> None:
    file, [first, _] = spans
    url = str(tmp_path / "scores.db")
    assert first.context is not None
    with Live({"short": checks.max_length(words=50)}, store=url) as live:
        with trace.use_span(trace.NonRecordingSpan(first.context)):
            live.submit("It is sunny in Ghent.", input="Weather in Ghent?")
        assert live.flush(WAIT)
    done = CliRunner().invoke(main, ["score", str(file), "-s", "checks.includes=sunny", "--store", url])
    assert done.exit_code == 0, done.output
    with Store(url) as store:
        rows = store.runs.page(RunFilter(trace=format(first.context.trace_id, "032x"))).rows
        assert sorted(row.kind for row in rows) == ["live", "recorded"]
        spans_of_runs = {store.runs.get(row.number).run.span_id for row in rows}
    assert spans_of_runs == {format(first.context.span_id, "016x")}


def test_a_recorded_run_that_is_scored_live_belongs_to_its_own_span(spans: tuple[Path, list[ReadableSpan]]) -> None:
    file, [first, _] = spans
    kept: list[Any] = []

    class Runs:
        def save(self, records: Any, **_: Any) -> None:
            kept.extend(record.run for record in records)

    run = to_run(json.loads(file.read_text())["resourceSpans"][0]["scopeSpans"][0]["spans"][:2], "otel")
    with Live({"short": checks.max_length(words=50)}, store=Runs()) as live:
        live.submit(run)
        assert live.flush(WAIT)
    assert first.context is not None
    assert [kept_run.span_id for kept_run in kept] == [format(first.context.span_id, "016x")]
