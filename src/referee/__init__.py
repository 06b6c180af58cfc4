"""Referee evaluates AI agents: their words and their tool calls.

Names are loaded when they are first used, so that `import referee` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from referee import checks, scorers
    from referee.comparison import compare
    from referee.errors import (
        InvalidScoreError,
        JudgeError,
        MissingExtraError,
        OptionError,
        ReadError,
        RefereeError,
        ScoreCheckError,
        StoreError,
    )
    from referee.evaluate import (
        CommandTarget,
        Hooks,
        HttpTarget,
        RecordedRuns,
        Report,
        read_report,
        run_evals,
        run_evals_sync,
    )
    from referee.filtering import filter_run
    from referee.formats import read_runs, to_run
    from referee.items import Item, Turn
    from referee.judge import Judge
    from referee.live import Live
    from referee.loading import load_scorer
    from referee.messages import File, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
    from referee.pipeline import Scorer, as_scorer, create_scorer
    from referee.prompts import Prompt
    from referee.runs import Run, Usage
    from referee.scores import Score
    from referee.steps import PromptStep, Results, not_scorable
    from referee.trajectories import extract_trajectory
    from referee.trajectory import Step, Trajectory

#: Where each public name lives.
_HOME = {
    "CommandTarget": "evaluate",
    "File": "messages",
    "Hooks": "evaluate",
    "HttpTarget": "evaluate",
    "InvalidScoreError": "errors",
    "Item": "items",
    "Judge": "judge",
    "JudgeError": "errors",
    "Live": "live",
    "Message": "messages",
    "MissingExtraError": "errors",
    "Opaque": "messages",
    "OptionError": "errors",
    "Prompt": "prompts",
    "PromptStep": "steps",
    "ReadError": "errors",
    "Reasoning": "messages",
    "RecordedRuns": "evaluate",
    "RefereeError": "errors",
    "Report": "evaluate",
    "Results": "steps",
    "Run": "runs",
    "Score": "scores",
    "ScoreCheckError": "errors",
    "Scorer": "pipeline",
    "Step": "trajectory",
    "StoreError": "errors",
    "Text": "messages",
    "ToolCall": "messages",
    "ToolResult": "messages",
    "Trajectory": "trajectory",
    "Turn": "items",
    "Usage": "runs",
    "as_scorer": "pipeline",
    "compare": "comparison",
    "create_scorer": "pipeline",
    "extract_trajectory": "trajectories",
    "filter_run": "filtering",
    "load_scorer": "loading",
    "not_scorable": "steps",
    "read_report": "evaluate",
    "read_runs": "formats",
    "run_evals": "evaluate",
    "run_evals_sync": "evaluate",
    "to_run": "formats",
}
_SUBPACKAGES = ("checks", "scorers")

__version__ = "0.1.0"

__all__ = [
    "CommandTarget",
    "File",
    "Hooks",
    "HttpTarget",
    "InvalidScoreError",
    "Item",
    "Judge",
    "JudgeError",
    "Live",
    "Message",
    "MissingExtraError",
    "Opaque",
    "OptionError",
    "Prompt",
    "PromptStep",
    "ReadError",
    "Reasoning",
    "RecordedRuns",
    "RefereeError",
    "Report",
    "Results",
    "Run",
    "Score",
    "ScoreCheckError",
    "Scorer",
    "Step",
    "StoreError",
    "Text",
    "ToolCall",
    "ToolResult",
    "Trajectory",
    "Turn",
    "Usage",
    "as_scorer",
    "checks",
    "compare",
    "create_scorer",
    "extract_trajectory",
    "filter_run",
    "load_scorer",
    "not_scorable",
    "read_report",
    "read_runs",
    "run_evals",
    "run_evals_sync",
    "scorers",
    "to_run",
]


def __getattr__(name: str) -> Any:
    if name in _SUBPACKAGES:
        return import_module(f"referee.{name}")
    if name in _HOME:
        value = getattr(import_module(f"referee.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'referee' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
