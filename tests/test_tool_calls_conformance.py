"""The conformance vectors of expected tool calls and plans."""

from __future__ import annotations

from typing import Any

import pytest

from referee import checks
from support import assert_as_expected, build, cases, run_of


@pytest.mark.parametrize("case", cases("checks", "field_cases", factory=("checks.tool_calls", "checks.tool_plan")))
def test_expected_calls(case: dict[str, Any]) -> None:
    scorer = build(checks, case["call"])
    run = run_of(case)
    for _ in range(2):  # holds no state between runs
        score = scorer.run_sync(run)
        assert_as_expected(score, case)
        assert score.score is not None
        assert ("\n" in (score.reason or "")) == (score.score < 1), "a failure's reason is a diff"
