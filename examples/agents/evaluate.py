"""Evaluates one of the agents in this folder: `python examples/agents/evaluate.py pydantic_ai_agent`."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

from referee import Report, checks, run_evals_sync

QUESTIONS = json.loads((Path(__file__).parent / "questions.json").read_text(encoding="utf-8"))


def evaluate(name: str) -> Report:
    """The report on the agent of a module in this folder."""
    return run_evals_sync(
        name=name,
        target=import_module(name).agent,
        data=QUESTIONS,
        gates=[checks.tool_calls(extra="forbid"), checks.no_tool_errors()],
        scorers=[{"scorer": "completeness", "threshold": 0.3}, checks.excludes("as an AI")],
    )


if __name__ == "__main__":
    report = evaluate(sys.argv[1])
    print(report)
    sys.exit(0 if report.verdict == "passed" else 1)
