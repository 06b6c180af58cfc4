"""An evaluation that is killed at random moments and resumed each time, and what must come of it.

Run `python tests/killed_evaluation.py --rounds 20` for more rounds than the tests have.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

ITEMS = 200
#: The child is killed within so many seconds after it has written its first result; it needs about one and a half.
_WITHIN = 0.7


def child(folder: Path) -> None:
    """Run the evaluation, or what is missing of it. Every start of the target is written down."""
    import asyncio

    from referee import checks, create_scorer
    from referee.evaluate import run_evals_sync

    log = (folder / "started.log").open("a", buffering=1)

    async def target(text: str) -> str:
        log.write(text + "\n")
        await asyncio.sleep(0.02)
        return f"The answer to {text} is {int(text.rsplit(maxsplit=1)[-1]) % 7}."

    length = create_scorer(id="length").generate_score(lambda run: len(run.output_text) / 100)
    run_evals_sync(
        target=target,
        data=[
            {"id": f"item-{number}", "input": f"question {number}", "tags": [f"t{number % 3}"]}
            for number in range(ITEMS)
        ],
        gates=[checks.excludes("is 3")],
        scorers=[{"scorer": checks.includes("is 5"), "threshold": 0.1}, length],
        journal=folder / "evals.jsonl",
        resume=(folder / "evals.jsonl").exists(),
    )


def finished(folder: Path) -> set[str]:
    """The items that have a complete line in the journal."""
    from referee.journal import read_records

    path = folder / "evals.jsonl"
    return {key[1] for key in read_records(path)[1]} if path.exists() else set()


def started(folder: Path) -> list[str]:
    """The items whose target was started, in order, repetitions included."""
    path = folder / "started.log"
    return [line.replace("question ", "item-") for line in path.read_text().splitlines()] if path.exists() else []


def run_child(folder: Path, kill_after: float | None) -> bool:
    """Run the child; kill it some time after its first new result. Gives whether it came to its end."""
    before = len(finished(folder))
    process = subprocess.Popen([sys.executable, __file__, "--child", str(folder)])
    if kill_after is not None:
        while process.poll() is None and len(finished(folder)) == before:
            _wait(process, 0.005)
        _wait(process, kill_after)
        if process.poll() is None:
            process.kill()
            process.wait()
            return False
    if process.wait() != 0:
        raise AssertionError(f"the child failed with {process.returncode}")
    return True


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return


def content(folder: Path) -> Any:
    """What the report says, without times and random ids."""
    from referee.evaluate import Report, read_report

    report = read_report(folder / "evals.jsonl")
    assert isinstance(report, Report)
    scores = [
        (
            result.key,
            result.run and result.run.output_text,
            [(s.scorer_id, s.score, s.reason) for s in result.all_scores],
        )
        for result in report.results
    ]
    return report.verdict, dict(report.summary), report.gates, report.thresholds, report.tags, report.missing, scores


def one_round(seed: int, expected: Any) -> int:
    """Kill and resume until the evaluation is done; check it. Gives the number of kills."""
    random = Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kills = 0
        while not run_child(folder, random.uniform(0, _WITHIN) if kills < 8 else None):
            kills += 1
            done, earlier = finished(folder), len(started(folder))
            (folder / f"done-{kills}").write_text("\n".join([str(earlier), *sorted(done)]))
        assert content(folder) == expected, "the report differs from an undisturbed one"
        for kill in range(1, kills + 1):
            count, *done = (folder / f"done-{kill}").read_text().splitlines()
            again = set(started(folder)[int(count) :]) & set(done)
            assert not again, f"finished items were asked again: {sorted(again)}"
        assert set(Counter(started(folder))) == {f"item-{number}" for number in range(ITEMS)}
    return kills


def undisturbed() -> Any:
    """The content of the report of an evaluation that nothing stops."""
    with tempfile.TemporaryDirectory() as name:
        run_child(Path(name), None)
        return content(Path(name))


def main() -> None:
    """Run rounds and say what happened."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", type=Path)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments.child)
        return
    expected = undisturbed()
    for seed in range(arguments.seed, arguments.seed + arguments.rounds):
        print(f"round {seed}: killed {one_round(seed, expected)} times, the report is the undisturbed one")


if __name__ == "__main__":
    main()
