"""The conformance vectors of the judged scorers: arithmetic, outcomes, and what the prompts must show."""

from __future__ import annotations

from typing import Any

import pytest

from cases_of_scorers import own_cases, run_of_case
from judge_script import AbstractJudge
from referee import scorers
from referee.errors import OptionError
from support import assert_as_expected, cases

FACTORIES = tuple(scorers.FACTORIES)


@pytest.mark.parametrize("case", [*cases("llm_scorers", factory=FACTORIES), *own_cases()])
def test_judged_scorer(case: dict[str, Any]) -> None:
    abstract = AbstractJudge(case)
    call = case["call"]
    options = {name: _returning(value) for name, value in call["kwargs"].items()}

    def create() -> Any:
        return getattr(scorers, call["factory"])(*call["args"], **options, model=abstract.judge)

    if case["expected"].get("error_at") == "create":
        with pytest.raises(OptionError):
            create()
        return
    score = create().run_sync(run_of_case(case))
    assert_as_expected(score, case)
    assert not abstract.problems
    for tag in case.get("must_show", ()):
        assert tag in abstract.prompts
    if "judge_calls" in case["expected"]:
        assert len(abstract.model.requests) == case["expected"]["judge_calls"]
    if score.error is not None:
        assert score.error.raw_reply
    assert bool(score.reason_error) == bool(case["expected"].get("reason_error"))


def _returning(option: Any) -> Any:
    """The option, or the function that `{"$returns": ...}` stands for."""
    if isinstance(option, dict) and list(option) == ["$returns"]:
        return lambda run: option["$returns"]
    return option
