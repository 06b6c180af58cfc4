"""Sampling: the same runs for everybody, and as many as the rate says."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
from typing import Any

import pytest

from referee import OptionError, Run, checks
from referee.live import Live
from referee.live.sampling import sampler, unit_interval

TRACES = [f"{number:032x}" for number in random.Random(7).sample(range(1 << 60), 100_000)]


def ratio(rate: float) -> Any:
    return {"type": "ratio", "rate": rate}


@pytest.mark.parametrize("rate", [0.001, 0.1, 0.5, 0.93])
def test_the_rate_holds_within_binomial_bounds(rate: float) -> None:
    sample = sampler(ratio(rate), "sampling")
    assert sample is not None
    chosen = sum(map(sample, TRACES))
    deviation = math.sqrt(len(TRACES) * rate * (1 - rate))
    assert abs(chosen - len(TRACES) * rate) < 4 * deviation


def test_a_higher_rate_chooses_all_that_a_lower_one_does() -> None:
    low, high = sampler(ratio(0.1), ""), sampler(ratio(0.3), "")
    assert low is not None
    assert high is not None
    assert {trace for trace in TRACES[:5000] if low(trace)} < {trace for trace in TRACES[:5000] if high(trace)}


def test_every_and_no_run() -> None:
    assert sampler(None, "") is None
    assert sampler({"type": "none"}, "") is None
    everything, nothing = sampler(ratio(1), ""), sampler(ratio(0), "")
    assert everything is not None
    assert nothing is not None
    assert all(map(everything, TRACES[:1000]))
    assert not any(map(nothing, TRACES[:1000]))


def test_the_number_of_a_key_is_the_reference_s() -> None:
    # SHA-256 of the key, its first six bytes as a number, divided by 2**48.
    assert unit_interval("") == 0xE3B0C44298FC / 2**48
    assert unit_interval("abc") == 0xBA7816BF8F01 / 2**48


def test_two_processes_choose_the_same_traces() -> None:
    program = (
        "import json, sys; from referee.live.sampling import sampler; "
        "sample = sampler({'type': 'ratio', 'rate': 0.25}, ''); "
        "print(json.dumps([trace for trace in json.load(sys.stdin) if sample(trace)]))"
    )
    traces = TRACES[:5000]
    outputs = [
        subprocess.run(
            [sys.executable, "-c", program], input=json.dumps(traces), capture_output=True, text=True, check=True
        )
        for _ in range(2)
    ]
    chosen = json.loads(outputs[0].stdout)
    here = sampler(ratio(0.25), "")
    assert here is not None
    assert json.loads(outputs[1].stdout) == chosen == [trace for trace in traces if here(trace)]


class Kept:
    """Remembers which runs each scorer scored."""

    def __init__(self) -> None:
        self.runs: dict[str, set[str]] = {}

    def save(self, records: Any, **_: Any) -> None:
        for record in records:
            for score in record.scores:
                self.runs.setdefault(score.scorer_id, set()).add(record.run.id)


def test_two_scorers_of_one_rate_look_at_the_same_runs() -> None:
    store = Kept()
    first, second = checks.includes("a", id="first"), checks.includes("b", id="second")
    scorers = {
        "first": {"scorer": first, "sampling": ratio(0.2)},
        "second": {"scorer": second, "sampling": ratio(0.2)},
    }
    with Live(scorers, store=store, queue_size=5000) as live:
        for trace in TRACES[:2000]:
            live.submit(Run(id=f"run-{trace}", trace_id=trace))
        assert live.close(60)
    assert store.runs["first"] == store.runs["second"]
    assert len(store.runs["first"]) == live.counts["first"].scored
    assert live.counts["first"].sampled_out == 2000 - live.counts["first"].scored


def test_runs_of_one_trace_are_decided_alike_and_others_by_their_id() -> None:
    store = Kept()
    with Live({"check": {"scorer": checks.includes("a"), "sampling": ratio(0.5)}}, store=store) as live:
        for number in range(20):
            live.submit(Run(id=f"a{number}", trace_id="a"))  # left out
            live.submit(Run(id=f"b{number}", trace_id="b"))  # looked at
            live.submit("text", run_id=f"c{number}", trace_id="b")
        for name in ("a", "b", "c", "d"):
            live.submit(Run(id=name))
        assert live.close(60)
    scored = store.runs["check-includes"]
    assert {f"b{number}" for number in range(20)} | {f"c{number}" for number in range(20)} | {"b", "c", "d"} == scored


@pytest.mark.parametrize(
    ("sampling", "message"),
    [
        (0.1, 'scorers.tone.sampling: expected {"type": "ratio"'),
        ({"rate": 0.1}, "scorers.tone.sampling: expected"),
        ({"type": "random", "rate": 0.1}, "scorers.tone.sampling: expected"),
        ({"type": "ratio"}, "scorers.tone.sampling.rate: must be a number from 0 to 1, not None"),
        ({"type": "ratio", "rate": 10}, "scorers.tone.sampling.rate: must be a number from 0 to 1, not 10"),
        ({"type": "ratio", "rate": True}, "scorers.tone.sampling.rate"),
        ({"type": "ratio", "rate": math.nan}, "scorers.tone.sampling.rate"),
        ({"type": "ratio", "rate": 0.1, "seed": 3}, "scorers.tone.sampling: there is no option 'seed'"),
        ({"type": "none", "rate": 0.1}, "scorers.tone.sampling: there is no option 'rate'"),
    ],
)
def test_a_wrong_sampling_is_refused(sampling: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message.replace("{", r"\{")):
        Live({"tone": {"scorer": checks.includes("a"), "sampling": sampling}})
