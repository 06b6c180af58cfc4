"""Eleven checks from file to scores, against the minimal loop, in one process.

Use: python -m benchmarks.quick_checks [RUNS] [ROUNDS] [numpy|counter]
"""

from __future__ import annotations

import gc
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import minimal_loop, workload

DATA = Path(__file__).parent / "data"
#: The rates that must be reached, as shares of the minimal loop's.
BAR = 0.60


def scorers() -> list[object]:
    """The eleven checks; the last is a strict comparison with the run's expected calls."""
    from referee import checks
    from referee.scorers import create_tool_call_accuracy_scorer_code

    return [
        checks.includes(workload.INCLUDES),
        checks.excludes(workload.EXCLUDES),
        checks.matches(workload.PATTERN),
        checks.similarity(workload.REFERENCE, scope="all"),
        checks.called_tool(workload.CALLED),
        checks.did_not_call(workload.FORBIDDEN),
        checks.tool_order(workload.ORDER),
        checks.max_tool_calls(workload.MAX_CALLS),
        checks.no_tool_errors(),
        create_tool_call_accuracy_scorer_code(expected_tool_order=workload.STRICT_ORDER, strict_mode=True),
        checks.tool_calls(order="exact", extra="forbid"),
    ]


def referee_sums(path: Path, *, without: str | None = None) -> list[float]:
    """The sum of each score over a file, in the way of `referee score`; one kind of scorer may be left out."""
    from referee import read_runs
    from referee.batch import score_runs

    wanted = [scorer for scorer in scorers() if scorer.kind != without]  # type: ignore[attr-defined]
    total = [0.0] * len(wanted)
    for _, scores in score_runs(read_runs(path), wanted):  # type: ignore[arg-type]
        for place, score in enumerate(scores):
            total[place] += score.score or 0.0
    return total


def without_numpy() -> None:
    """Make `import numpy` fail, as on a machine without the extra `fast`."""
    sys.modules["numpy"] = None  # type: ignore[assignment]


def measure(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The mean CPU seconds of each way; the ways take short turns, so that all see the same fast and slow moments."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            gc.collect()
            start = time.process_time()
            way()
            times[name].append(time.process_time() - start)
    return {name: statistics.mean(values) for name, values in times.items()}


def main(runs: int = 1000, rounds: int = 60, dice: str = "numpy") -> None:
    path = workload.write(DATA / f"runs_{runs}.jsonl", runs)
    if dice == "counter":
        without_numpy()
    loop = minimal_loop.numpy_dice() if dice == "numpy" else minimal_loop.counter_dice()
    ours, limit = referee_sums(path), minimal_loop.sums(path, loop)
    differing = [place for place, pair in enumerate(zip(ours, limit)) if abs(pair[0] - pair[1]) > 1e-6 * runs]
    found = measure(
        {"minimal loop": lambda: minimal_loop.sums(path, loop), "referee": lambda: referee_sums(path)}, rounds
    )
    print(f"| {runs:,} runs, Dice with {dice} | runs / CPU second | share of the loop |\n|---|---:|---:|")
    for name, seconds in found.items():
        print(f"| {name} | {runs / seconds:,.0f} | {found['minimal loop'] / seconds:.2f} |")
    share = found["minimal loop"] / found["referee"]
    print(
        f"\nbar {BAR:.0%}: {'holds' if share >= BAR else 'DOES NOT HOLD'} ({share:.0%}); checks with another sum: {differing or 'none'}\n"
    )


if __name__ == "__main__":
    modes = [word for word in sys.argv[1:] if word in ("numpy", "counter")] or ["numpy"]
    if importlib.util.find_spec("numpy") is None:
        modes = ["counter"]
    main(*[int(word) for word in sys.argv[1:] if word.isdigit()], dice=modes[0])
