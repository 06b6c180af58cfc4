"""The conformance vectors of the eleven checks, of tool-call accuracy by code, and of decoding."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from referee import checks, scorers
from referee.formats import mastra
from support import assert_as_expected, build, cases, run_of

ELEVEN = (
    "checks.includes",
    "checks.excludes",
    "checks.equals",
    "checks.matches",
    "checks.similarity",
    "checks.called_tool",
    "checks.did_not_call",
    "checks.tool_order",
    "checks.max_tool_calls",
    "checks.used_no_tools",
    "checks.no_tool_errors",
)


#: Vectors whose `tool_call_infos` list other calls than their own `actual_tools`, which are the right ones.
CONTRADICTORY = ("tool-call-accuracy-code-0030",)


@pytest.mark.parametrize("case", cases("checks", "field_cases", factory=ELEVEN))
def test_check(case: dict[str, Any]) -> None:
    scorer = build(checks, case["call"])
    run = run_of(case)
    for _ in range(3):  # a check holds no state between runs
        assert_as_expected(scorer.run_sync(run), case)


@pytest.mark.parametrize("case", cases("tool_call_accuracy_code"))
def test_tool_call_accuracy_code(case: dict[str, Any]) -> None:
    if case["expected"]["outcome"] == "error":
        with pytest.raises(ValueError):
            build(scorers, case["call"])
        return
    score = build(scorers, case["call"]).run_sync(run_of(case))
    assert_as_expected(score, case)
    found = msgspec.to_builtins(score.preprocess_step_result)
    for key, value in case["expected"].get("preprocess_step_result", {}).items():
        if key == "tool_call_infos" and case["id"] in CONTRADICTORY:
            assert [info["tool_name"] for info in value] != case["expected"]["preprocess_step_result"]["actual_tools"]
        elif key == "tool_call_infos":
            assert len(found[key]) == len(value)
            for ours, theirs in zip(found[key], value):
                assert {name: ours[name] for name in theirs} == theirs
        else:
            assert found[key] == value, key


@pytest.mark.parametrize("case", cases("utils"))
def test_decoding(case: dict[str, Any]) -> None:
    wanted = case["call"]["decode"]
    if wanted.startswith("names"):
        found: Any = list(mastra.decode({"input": {"inputMessages": []}, **case["run"]}).runs[0].tool_names)
    else:
        decoded = mastra.decode({"input": {"inputMessages": []}, "output": [case["run"]["message"]]})
        message = decoded.runs[0].output[0]
        calls = [{"id": call.id, "name": call.name, "state": call.state} for call in message.tool_calls]
        found = message.text if wanted.startswith("text") else calls
    assert found == case["expected"]["value"]
