"""OpenTelemetry out: spans, events and metrics of scores, in memory and over the wire."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes

from referee import MissingExtraError, Run, checks, create_scorer, not_scorable, telemetry
from referee.judge import Judge, ScriptedModel
from referee.live import Live
from referee.prompts import Prompt
from referee.scores import JudgeUsage, Score
from referee.steps import PromptStep
from referee.telemetry import Telemetry, label
from referee.testing import create_agent_test_run

WAIT = 60.0


class Memory:
    """Providers that keep everything in memory."""

    def __init__(self) -> None:
        self.span_exporter = InMemorySpanExporter()
        self.tracer_provider = TracerProvider()
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self.span_exporter))
        self.log_exporter = InMemoryLogRecordExporter()
        self.logger_provider = LoggerProvider()
        self.logger_provider.add_log_record_processor(SimpleLogRecordProcessor(self.log_exporter))
        self.reader = InMemoryMetricReader()
        self.meter_provider = MeterProvider([self.reader])

    @property
    def telemetry(self) -> Telemetry:
        return Telemetry(
            tracer_provider=self.tracer_provider,
            meter_provider=self.meter_provider,
            logger_provider=self.logger_provider,
        )

    @property
    def spans(self) -> dict[str, Any]:
        return {span.name: span for span in self.span_exporter.get_finished_spans()}

    @property
    def events(self) -> dict[str, Any]:
        records = [data.log_record for data in self.log_exporter.get_finished_logs()]
        return {record.attributes["gen_ai.evaluation.name"]: record for record in records}

    @property
    def metrics(self) -> dict[str, dict[tuple[Any, ...], Any]]:
        """By name and attribute values: the sum, or the count and the sum of a histogram."""
        data = self.reader.get_metrics_data()
        assert data is not None
        found: dict[str, dict[tuple[Any, ...], Any]] = {}
        for resource in data.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in metric.data.data_points:
                        value = point.value if hasattr(point, "value") else (point.count, point.sum)
                        key = tuple(value for _, value in sorted(point.attributes.items()))
                        found.setdefault(metric.name, {})[key] = value
        return found

    def close(self) -> None:
        self.tracer_provider.shutdown()
        self.logger_provider.shutdown()
        self.meter_provider.shutdown()


@pytest.fixture
def memory() -> Iterator[Memory]:
    memory = Memory()
    yield memory
    memory.close()


def run(text: str = "It is sunny.", **fields: Any) -> Run:
    return create_agent_test_run(input_messages="Weather?", output=text, **fields)


def boom(run: Run) -> bool:
    raise LookupError("nothing found")


def nothing(run: Run) -> Any:
    return not_scorable("no documents")


async def half(run: Run) -> float:
    with trace.get_tracer("judge's client").start_as_current_span("request"):
        return 0.5


def test_a_scoring_is_a_span_and_its_result_an_event_of_the_scored_operation(memory: Memory) -> None:
    tracer = memory.tracer_provider.get_tracer("app")
    scorers = {"sunny": checks.includes("sunny"), "boom": boom, "nothing": nothing, "half": half}
    with Live(scorers, telemetry=memory.telemetry) as live:

        @live.scored
        def agent(question: str) -> str:
            return "It is rainy."

        with tracer.start_as_current_span("invoke_agent weather") as operation:
            agent("Weather?")
        assert live.flush(WAIT)
    context = operation.get_span_context()
    for name in ("check-includes", "boom", "nothing", "half"):
        span, event = memory.spans[f"evaluate {name}"], memory.events[name]
        assert span.context.trace_id == event.trace_id == context.trace_id
        assert span.parent.span_id == event.span_id == context.span_id
        assert event.event_name == "gen_ai.evaluation.result"
        assert span.start_time <= span.end_time == event.timestamp
        assert span.attributes["gen_ai.evaluation.name"] == name
    assert dict(memory.events["check-includes"].attributes) == {
        "gen_ai.evaluation.name": "check-includes",
        "gen_ai.evaluation.score.value": 0.0,
        "gen_ai.evaluation.score.label": "fail",
        "gen_ai.evaluation.explanation": 'the text does not contain "sunny"',
        "referee.run.id": memory.spans["evaluate boom"].attributes["referee.run.id"],
        "referee.scorer.version": checks.includes("sunny").version,
    }
    failed = memory.events["boom"].attributes
    assert failed["error.type"] == "LookupError"
    assert failed["gen_ai.evaluation.score.label"] == "error"
    assert failed["gen_ai.evaluation.explanation"] == "nothing found"
    assert "gen_ai.evaluation.score.value" not in failed
    assert memory.spans["evaluate boom"].status.status_code is trace.StatusCode.ERROR
    assert memory.spans["evaluate boom"].attributes["error.type"] == "LookupError"
    unscored = memory.events["nothing"].attributes
    assert unscored["gen_ai.evaluation.score.label"] == "not_scorable"
    assert unscored["gen_ai.evaluation.explanation"] == "no documents"
    assert memory.events["half"].attributes["gen_ai.evaluation.score.value"] == 0.5
    assert memory.events["half"].attributes["gen_ai.evaluation.score.label"] == "scored"


def test_names_are_those_of_the_semantic_conventions(memory: Memory) -> None:
    with Live({"boom": boom, "sunny": checks.includes("sunny")}, telemetry=memory.telemetry) as live:
        live.submit("sunny")
        assert live.flush(WAIT)
    assert {
        gen_ai_attributes.GEN_AI_EVALUATION_NAME,
        gen_ai_attributes.GEN_AI_EVALUATION_SCORE_VALUE,
        gen_ai_attributes.GEN_AI_EVALUATION_SCORE_LABEL,
        gen_ai_attributes.GEN_AI_EVALUATION_EXPLANATION,
    } <= set(memory.events["check-includes"].attributes)
    assert error_attributes.ERROR_TYPE in memory.events["boom"].attributes
    assert telemetry._MODEL == gen_ai_attributes.GEN_AI_REQUEST_MODEL
    assert telemetry._TOKEN_TYPE == gen_ai_attributes.GEN_AI_TOKEN_TYPE
    assert {"input", "output"} <= {kind.value for kind in gen_ai_attributes.GenAiTokenTypeValues}


def test_without_a_trace_the_event_belongs_to_the_span_of_the_scoring(memory: Memory) -> None:
    with Live({"sunny": checks.includes("sunny")}, telemetry=memory.telemetry) as live:
        live.submit(run(run_id="r"))
        assert live.flush(WAIT)
    span, event = memory.spans["evaluate check-includes"], memory.events["check-includes"]
    assert span.parent is None
    assert (event.trace_id, event.span_id) == (span.context.trace_id, span.context.span_id)
    assert event.attributes["referee.run.id"] == "r"


def test_a_recorded_run_s_own_span_is_the_scored_operation(memory: Memory) -> None:
    with Live({"sunny": checks.includes("sunny")}, telemetry=memory.telemetry) as live:
        live.submit(run(trace_id="0af7651916cd43dd8448eb211c80319c", span_id="b7ad6b7169203331"))
        assert live.flush(WAIT)
        event = memory.events["check-includes"]
        assert format(event.trace_id, "032x") == "0af7651916cd43dd8448eb211c80319c"
        assert format(event.span_id, "016x") == "b7ad6b7169203331"
        live.submit(run(trace_id="no hexadecimal digits", span_id="xyz"))
        assert live.flush(WAIT)
    assert live.counts["sunny"].scored == 2


def test_what_a_judge_s_client_does_stands_below_the_scoring(memory: Memory) -> None:
    async def asks(run: Run) -> float:
        with memory.tracer_provider.get_tracer("client").start_as_current_span("chat"):
            return 1.0

    def plain(run: Run) -> bool:
        with memory.tracer_provider.get_tracer("client").start_as_current_span("look up"):
            return True

    with Live({"asks": asks, "plain": plain}, telemetry=memory.telemetry) as live:
        live.submit("text")
        assert live.flush(WAIT)
    assert memory.spans["chat"].parent.span_id == memory.spans["evaluate asks"].context.span_id
    assert memory.spans["look up"].parent.span_id == memory.spans["evaluate plain"].context.span_id


def test_a_scoring_that_is_given_up_has_a_span_too(memory: Memory) -> None:
    gate = threading.Event()

    def hangs(run: Run) -> bool:
        return gate.wait(WAIT)

    with Live({"hangs": hangs}, telemetry=memory.telemetry, timeout=0.05) as live:
        live.submit("text")
        assert live.flush(WAIT)
        gate.set()
    assert memory.spans["evaluate hangs"].attributes["error.type"] == "ScoringError"
    assert memory.events["hangs"].attributes["gen_ai.evaluation.explanation"] == "took longer than 0.05 s"


def judged(name: str) -> Any:
    return create_scorer(id=name).generate_score(
        PromptStep(lambda run: Prompt("How good is {answer}?", answer=run.final_text), returns=float)
    )


def test_metrics(memory: Memory) -> None:
    gate = threading.Event()
    gated = create_scorer(id="gated").generate_score(lambda run: gate.wait(WAIT))
    scorers = {
        "sunny": checks.includes("sunny"),
        "boom": boom,
        "nothing": nothing,
        "gated": gated,
        "judged": judged("judged"),
    }
    judge = Judge(ScriptedModel([{"value": 0.5}], name="small"))
    with Live(scorers, judge=judge, telemetry=memory.telemetry, queue_size=1) as live:
        for text in ("sunny", "rainy"):
            live.submit(text)
            while any(counts.pending for name, counts in live.counts.items() if name != "gated"):
                live.flush(0.02)
        gate.set()
        assert live.close(WAIT)
    metrics = memory.metrics
    assert metrics["referee.evaluation.score"][("check-includes",)] == (2, 1.0)
    assert metrics["referee.evaluation.score"][("judged",)] == (2, 1.0)
    assert metrics["referee.evaluation.results"] == {
        ("check-includes", "scored"): 2,
        ("boom", "error"): 2,
        ("nothing", "not_scorable"): 2,
        ("gated", "scored"): 1,
        ("judged", "scored"): 2,
    }
    assert metrics["referee.evaluation.errors"] == {("LookupError", "boom"): 2}
    assert metrics["referee.evaluation.drops"] == {("gated", "queue_full"): 1}


def test_metrics_of_the_judge(memory: Memory) -> None:
    usage = JudgeUsage(model="small", calls=2, attempts=3, input_tokens=120, output_tokens=30, cost=0.002)
    score = Score("r", "relevancy", 0.5, judge={"analyze": usage, "generate_reason": usage})
    out = memory.telemetry
    span = out.start(judged("relevancy"), "r", None)
    out.finish(span, judged("relevancy"), score, None, 2**60)
    metrics = memory.metrics
    assert metrics["referee.judge.tokens"] == {
        ("relevancy", "small", "input"): 240,
        ("relevancy", "small", "output"): 60,
    }
    assert metrics["referee.judge.cost"] == {("relevancy", "small"): pytest.approx(0.004)}
    assert memory.spans["evaluate relevancy"].attributes["gen_ai.request.model"] == "small"


@pytest.mark.parametrize(
    ("score", "word"),
    [
        (Score("r", "check-includes", 1.0), "pass"),
        (Score("r", "check-includes", 0.0), "fail"),
        (Score("r", "tone", 1.0), "scored"),
        (Score("r", "tone"), "not_scorable"),
    ],
)
def test_labels(score: Score, word: str) -> None:
    assert label(score) == word


class Collector:
    """An OTLP endpoint."""

    def __init__(self) -> None:
        self.requests: dict[str, list[Any]] = {"/v1/traces": [], "/v1/logs": [], "/v1/metrics": []}
        kinds: dict[str, Any] = {
            "/v1/traces": ExportTraceServiceRequest,
            "/v1/logs": ExportLogsServiceRequest,
            "/v1/metrics": ExportMetricsServiceRequest,
        }
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                message = kinds[self.path]()
                message.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
                collector.requests[self.path].append(message)
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    yield collector
    collector.close()


def attributes(given: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in given}


def test_over_the_wire(collector: Collector) -> None:
    tracer_provider, logger_provider = TracerProvider(), LoggerProvider()
    tracer_provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{collector.url}/v1/traces")))
    logger_provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(f"{collector.url}/v1/logs")))
    reader = PeriodicExportingMetricReader(OTLPMetricExporter(f"{collector.url}/v1/metrics"), 3_600_000)
    meter_provider = MeterProvider([reader])
    out = Telemetry(tracer_provider=tracer_provider, logger_provider=logger_provider, meter_provider=meter_provider)
    with Live({"sunny": checks.includes("sunny"), "boom": boom}, telemetry=out) as live:
        with tracer_provider.get_tracer("app").start_as_current_span("invoke_agent weather") as operation:
            live.submit("It is sunny.", run_id="r")
        assert live.flush(WAIT)
    for provider in (tracer_provider, logger_provider, meter_provider):
        provider.shutdown()
    context = operation.get_span_context()
    trace_id, span_id = context.trace_id.to_bytes(16, "big"), context.span_id.to_bytes(8, "big")
    spans = {
        span.name: span
        for request in collector.requests["/v1/traces"]
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    }
    assert set(spans) == {"invoke_agent weather", "evaluate check-includes", "evaluate boom"}
    assert {span.trace_id for span in spans.values()} == {trace_id}
    assert spans["evaluate boom"].parent_span_id == spans["evaluate check-includes"].parent_span_id == span_id
    records = [
        record
        for request in collector.requests["/v1/logs"]
        for resource in request.resource_logs
        for scope in resource.scope_logs
        for record in scope.log_records
    ]
    assert {record.event_name for record in records} == {"gen_ai.evaluation.result"}
    assert {(record.trace_id, record.span_id) for record in records} == {(trace_id, span_id)}
    told = {
        attributes(record.attributes)["gen_ai.evaluation.name"]: attributes(record.attributes) for record in records
    }
    assert told["check-includes"]["gen_ai.evaluation.score.value"] == 1.0
    assert told["check-includes"]["gen_ai.evaluation.score.label"] == "pass"
    assert told["check-includes"]["gen_ai.evaluation.explanation"] == 'the text contains "sunny"'
    assert told["boom"]["error.type"] == "LookupError"
    names = {
        metric.name
        for request in collector.requests["/v1/metrics"]
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }
    assert names == {"referee.evaluation.score", "referee.evaluation.results", "referee.evaluation.errors"}


def test_a_telemetry_that_fails_loses_no_score(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    out = memory.telemetry
    out.finish = None  # type: ignore[method-assign, assignment]
    with Live({"sunny": checks.includes("sunny")}, telemetry=out) as live:
        live.submit("text")
        assert live.flush(WAIT)
    assert live.counts["sunny"].scored == 1
    assert "the telemetry of a score failed" in caplog.text


def loaded_by(program: str) -> str:
    head = "import sys; from referee import checks; from referee.live import Live; "
    tail = "; print(sorted(name for name in sys.modules if name.startswith('opentelemetry')))"
    done = subprocess.run([sys.executable, "-c", head + program + tail], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_an_application_without_opentelemetry_loads_none_of_it() -> None:
    program = "live = Live({'a': checks.includes('a')}); live.submit('a'); assert live.close(60)"
    assert loaded_by(program) == "[]"


def test_an_application_that_uses_opentelemetry_gets_it_without_being_asked() -> None:
    program = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from referee import checks
from referee.live import Live
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
live = Live({'a': checks.includes('a')})
live.submit('a')
assert live.close(60)
print([span.name for span in exporter.get_finished_spans()])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['evaluate check-includes']"


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(
        MissingExtraError, match=r"telemetry needs the package opentelemetry-api: pip install 'referee\[otel\]'"
    ):
        Telemetry()
