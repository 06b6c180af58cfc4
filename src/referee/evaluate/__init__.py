"""Evaluations: an agent on a data set, scored, with a verdict."""

from __future__ import annotations

from referee.evaluate.evals import run_evals, run_evals_sync
from referee.evaluate.hooks import Hooks
from referee.evaluate.mocks import MockedToolError, ToolMocks
from referee.evaluate.report import Report, SideBySide, read_report
from referee.evaluate.targets import RecordedRuns, Target, as_target
from referee.evaluate.targets.command import CommandTarget
from referee.evaluate.targets.http import HttpTarget

__all__ = [
    "CommandTarget",
    "Hooks",
    "HttpTarget",
    "MockedToolError",
    "RecordedRuns",
    "Report",
    "SideBySide",
    "Target",
    "ToolMocks",
    "as_target",
    "read_report",
    "run_evals",
    "run_evals_sync",
]
