"""Scores as OpenTelemetry: each scoring is a span, each result an event, and counts are metrics.

Names follow the GenAI semantic conventions where they have one. Nothing is sent anywhere by this module: the spans,
events and metrics go to the providers that the application has set up, and to nobody where it has set up none.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from referee.errors import MissingExtraError
from referee.pipeline import Scorer
from referee.scores import JudgeUsage, Score

if TYPE_CHECKING:
    from opentelemetry._logs import LoggerProvider
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Span, SpanContext, TracerProvider

#: The event that carries a score.
RESULT_EVENT = "gen_ai.evaluation.result"

_SCOPE = "referee"
_NAME = "gen_ai.evaluation.name"
_VALUE = "gen_ai.evaluation.score.value"
_LABEL = "gen_ai.evaluation.score.label"
_EXPLANATION = "gen_ai.evaluation.explanation"
_ERROR_TYPE = "error.type"
_MODEL = "gen_ai.request.model"
_TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 - the name of an attribute
_RUN_ID = "referee.run.id"
_VERSION = "referee.scorer.version"
_STATUS = "referee.score.status"
_DROP_REASON = "referee.drop.reason"


class Telemetry:
    """Writes spans, events and metrics of scores.

    | metric | kind, unit | attributes |
    |---|---|---|
    | `referee.evaluation.score` | histogram of the scores | scorer |
    | `referee.evaluation.results` | counter, `{result}` | scorer, `referee.score.status` |
    | `referee.evaluation.errors` | counter, `{error}` | scorer, `error.type` |
    | `referee.evaluation.drops` | counter, `{run}` | scorer, `referee.drop.reason` |
    | `referee.judge.tokens` | counter, `{token}` | scorer, model, `gen_ai.token.type` |
    | `referee.judge.cost` | counter, `{USD}` | scorer, model |

    The scorer is the attribute `gen_ai.evaluation.name`.

    Args:
        tracer_provider, meter_provider, logger_provider: Where spans, metrics and events go; the application's global
            ones when `None`.

    Raises:
        MissingExtraError: The package opentelemetry-api is not installed.
    """

    def __init__(
        self,
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
    ) -> None:
        try:
            from opentelemetry import trace
            from opentelemetry._logs import get_logger
            from opentelemetry.metrics import get_meter
        except ImportError:
            raise MissingExtraError("telemetry", package="opentelemetry-api", extra="otel") from None
        self._trace = trace
        self._tracer = trace.get_tracer(_SCOPE, tracer_provider=tracer_provider)
        self._logger = get_logger(_SCOPE, logger_provider=logger_provider)
        meter = get_meter(_SCOPE, meter_provider=meter_provider)
        self._score = meter.create_histogram("referee.evaluation.score", "1", "Scores.")
        self._results = meter.create_counter("referee.evaluation.results", "{result}", "Results by status.")
        self._errors = meter.create_counter("referee.evaluation.errors", "{error}", "Scorings that failed.")
        self._drops = meter.create_counter(
            "referee.evaluation.drops", "{run}", "Runs not scored for want of room or time."
        )
        self._tokens = meter.create_counter("referee.judge.tokens", "{token}", "Tokens that judges used.")
        self._cost = meter.create_counter("referee.judge.cost", "{USD}", "US dollars that judges cost.")

    def start(self, scorer: Scorer[Any, Any], run_id: str, operation: SpanContext | None) -> Span:
        """Begin the span of one scoring, as a child of the scored operation.

        Args:
            scorer: The scorer at work.
            run_id: What it scores.
            operation: The span of the agent's run, where it has one.
        """
        attributes = {_NAME: scorer.id, _VERSION: scorer.version, _RUN_ID: run_id}
        return self._tracer.start_span(f"evaluate {scorer.id}", self._under(operation), attributes=attributes)

    @contextmanager
    def within(self, span: Span) -> Iterator[None]:
        """Make a span the current one, so that what the judge's client does stands below it. Does not end it."""
        with self._trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield

    def finish(
        self, span: Span | None, scorer: Scorer[Any, Any], score: Score, operation: SpanContext | None, ended: int
    ) -> None:
        """End the span of one scoring and tell its result as an event and in the metrics.

        Args:
            span: The span, or `None` when the scorer never began.
            scorer: The scorer.
            score: What it gave.
            operation: The span of the agent's run; the event belongs to it. Without one it belongs to the scoring's span.
            ended: When the scoring ended, in nanoseconds since 1970.
        """
        if span is not None:
            self._end(span, score, ended)
        belongs_to = operation or (None if span is None else span.get_span_context())
        self._logger.emit(
            timestamp=ended,
            context=self._under(belongs_to),
            event_name=RESULT_EVENT,
            attributes=_event_attributes(scorer, score),
        )
        self._measure(scorer, score)

    def dropped(self, scorer: Scorer[Any, Any], reason: str, count: int) -> None:
        """Count runs that a scorer had to drop."""
        self._drops.add(count, {_NAME: scorer.id, _DROP_REASON: reason})

    def _under(self, operation: SpanContext | None) -> Any:
        trace = self._trace
        return None if operation is None else trace.set_span_in_context(trace.NonRecordingSpan(operation))

    def _end(self, span: Span, score: Score, ended: int) -> None:
        span.set_attribute(_LABEL, label(score))
        if score.score is not None:
            span.set_attribute(_VALUE, score.score)
        for usage in (score.judge or {}).values():
            if usage.model is not None:
                span.set_attribute(_MODEL, usage.model)
        if score.error is not None:
            span.set_attribute(_ERROR_TYPE, score.error.error_class)
            span.set_status(self._trace.StatusCode.ERROR, score.error.message)
        span.end(ended)

    def _measure(self, scorer: Scorer[Any, Any], score: Score) -> None:
        named = {_NAME: scorer.id}
        self._results.add(1, {**named, _STATUS: score.status})
        if score.error is not None:
            self._errors.add(1, {**named, _ERROR_TYPE: score.error.error_class})
        elif score.score is not None:
            self._score.record(score.score, named)
        for usage in (score.judge or {}).values():
            self._measure_judge(usage, named)

    def _measure_judge(self, usage: JudgeUsage, named: dict[str, str]) -> None:
        asked = {**named, _MODEL: usage.model or "unknown"}
        for kind, count in (("input", usage.input_tokens), ("output", usage.output_tokens)):
            if count:
                self._tokens.add(count, {**asked, _TOKEN_TYPE: kind})
        if usage.cost:
            self._cost.add(usage.cost, asked)


def label(score: Score) -> str:
    """A score in one word: `pass` or `fail` of a check, which passes at 1; else its status.

    The possible words are `pass`, `fail`, `scored`, `not_scorable` and `error`.

    Example:
        >>> label(Score("r", "check-includes", 1.0)), label(Score("r", "answer-relevancy-scorer", 0.7))
        ('pass', 'scored')
    """
    if score.status == "scored" and score.scorer_id.startswith("check-"):
        return "pass" if score.score == 1.0 else "fail"
    return score.status


def _event_attributes(scorer: Scorer[Any, Any], score: Score) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        _NAME: scorer.id,
        _LABEL: label(score),
        _RUN_ID: score.run_id,
        _VERSION: scorer.version,
    }
    explanation = score.reason
    if score.error is not None:
        attributes[_ERROR_TYPE] = score.error.error_class
        explanation = score.error.message
    elif score.not_scorable is not None:
        explanation = score.not_scorable.reason
    if score.score is not None:
        attributes[_VALUE] = score.score
    if explanation is not None:
        attributes[_EXPLANATION] = explanation
    return attributes


def current_operation() -> SpanContext | None:
    """The span at whose place the program is, if it uses OpenTelemetry. Loads nothing."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    context: SpanContext = trace.get_current_span().get_span_context()
    return context if context.is_valid else None


def operation_of(trace_id: str | None, span_id: str | None) -> SpanContext | None:
    """The span of these hexadecimal ids, if they are ones and the program uses OpenTelemetry."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or trace_id is None or span_id is None:
        return None
    try:
        context: SpanContext = trace.SpanContext(
            int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED)
        )
    except ValueError:
        return None
    return context if context.is_valid else None


def find_telemetry() -> Telemetry | None:
    """Telemetry to the application's global providers, if the application uses OpenTelemetry."""
    return Telemetry() if "opentelemetry.trace" in sys.modules else None
