"""Cases of judged scorers that the conformance vectors do not know: one file a scorer, its cases in the vectors' form."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from referee import Run
from referee.testing import create_agent_test_run
from support import run_of

#: What the files say of each scorer: its `factory`, what it needs to judge `museum_run` (`kwargs`, `scores`), its `cases`.
FILES: list[dict[str, Any]] = [
    json.loads(path.read_text(encoding="utf-8")) for path in sorted((Path(__file__).parent / "cases").glob("*.json"))
]


def own_cases() -> list[Any]:
    """All cases as pytest parameters."""
    return [
        pytest.param(
            {"call": {"factory": file["factory"], "args": [], "kwargs": case["kwargs"]}, **case}, id=case["id"]
        )
        for file in FILES
        for case in file["cases"]
    ]


def run_of_case(case: dict[str, Any]) -> Run:
    """The case's run: its fields, or in the shape of the vectors."""
    return create_agent_test_run(**case["fields"]) if "fields" in case else run_of(case)
