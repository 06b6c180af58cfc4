"""Reports as JSON Lines: the plan, then a line per result. `referee.read_report` and `compare` read it back."""

from __future__ import annotations

import msgspec

from referee.evaluate.report import Report, SideBySide
from referee.results import Record, encode_record


def as_json_lines(report: Report | SideBySide) -> bytes:
    """The lines, in the form of a journal."""
    reports = [report] if isinstance(report, Report) else list(report.values())
    plan = msgspec.structs.replace(reports[0].evaluation, targets=[entry.target for entry in reports])
    records: list[Record] = [plan, *(result for entry in reports for result in entry.results)]
    return b"".join(encode_record(record) + b"\n" for record in records)
