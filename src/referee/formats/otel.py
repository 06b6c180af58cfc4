"""OpenTelemetry spans of agents: OTLP/JSON exports and flat lists, with GenAI attributes or any other."""

from __future__ import annotations

from typing import Any

from referee.formats.openinference import decode, pieces
from referee.formats.span_records import is_spans

NAME = "otel"
TITLE = "OpenTelemetry GenAI spans"

__all__ = ["NAME", "TITLE", "decode", "detect", "pieces"]


def detect(record: Any) -> bool:
    """Whether a record is a span, a list of spans or an OTLP export."""
    return is_spans(record)
