"""What several test modules need: conformance cases and the folder of other people's traces."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from referee import Run, Score, Scorer
from referee.formats import mastra

CONFORMANCE = Path(__file__).parent / "conformance"
FRAMEWORKS = Path(__file__).parent / "frameworks"
#: Other people's recorded runs; they lie beside the project where it is developed and are never copied in.
TRACES = Path(os.environ.get("REFEREE_TRACES", Path(__file__).parents[2] / "shared" / "traces"))

_TOLERANCE = 1e-9


def need_traces() -> Path:
    """The folder of recorded traces; without it the test is skipped, which in CI is a failure (`conftest`)."""
    if not TRACES.is_dir():
        pytest.skip(f"the recorded traces are not at {TRACES}")
    return TRACES


def need(*names: str) -> list[Any]:
    """The modules of frameworks; a missing one skips the test, which in CI is a failure (`conftest`)."""
    return [pytest.importorskip(name, reason="needs the dependency group `frameworks`") for name in names]


def cases(*files: str, factory: str | tuple[str, ...] = "") -> list[Any]:
    """The conformance cases of some files as pytest parameters, by the start of their factory's name."""
    found = []
    for file in files:
        for line in (CONFORMANCE / f"{file}.jsonl").read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            if case["call"].get("factory", "").startswith(factory):
                found.append(pytest.param(case, id=case["id"]))
    return found


def run_of(case: dict[str, Any]) -> Run:
    """The case's run, read by the library."""
    return mastra.decode(case["run"]).runs[0]


def assert_as_expected(score: Score, case: dict[str, Any]) -> None:
    """The score's outcome and number are the case's."""
    expected = case["expected"]
    status = {"score": "scored"}.get(expected["outcome"], expected["outcome"])
    assert score.status == status, f"{score.status} instead of {status}: {score}"
    if status == "scored":
        assert score.score == pytest.approx(expected["score"], abs=case.get("tolerance", _TOLERANCE), rel=0), score


def build(module: Any, call: dict[str, Any]) -> Scorer[Any, Any]:
    """Make the scorer that a case's call describes."""
    name = call["factory"].removeprefix("checks.")
    scorer: Scorer[Any, Any] = getattr(module, name)(*call["args"], **call["kwargs"])
    return scorer
