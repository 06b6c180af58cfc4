"""All that matters for the speed of quick checks, in one run: Referee, the minimal loop, raw decoding, installed peers.

Use: python -m benchmarks [--runs 10000] [--rounds 9] [--growth 1000 10000 100000 1000000] [--workers 2]

Every way runs in a process of its own, the ways in turn; a time is the median CPU time of the rounds, a ratio is taken
of medians. `--growth` scores files of such sizes with the command, in one process and in workers; a million runs take
6 GB of disk while they are scored. The exit code is 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from benchmarks import minimal_loop, quick_checks, workload

ROOT = Path(__file__).parents[1]
#: Bars: a way, the way that it is compared with, and the least share of that one's rate.
BARS = (
    ("Referee, 11 checks", "minimal loop", 0.65),
    ("Referee, without similarity", "minimal loop, without similarity", 0.60),
)
#: Bars of growth: the most megabytes, and how much more time and memory a run may take than at 100,000 runs.
MOST_MB, MOST_GROWTH = 300, 1.10
#: From so many runs on memory and time a run must stay the same.
LEVEL_FROM = 100_000
_REPEATED = 10_000


def lines_with(decode: Callable[[bytes], object], path: Path) -> None:
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            decode(line)


def with_json(path: Path) -> None:
    lines_with(json.loads, path)


def with_orjson(path: Path) -> None:
    import orjson

    lines_with(orjson.loads, path)


def with_simdjson(path: Path) -> None:
    import simdjson

    lines_with(simdjson.Parser().parse, path)


def with_msgspec(path: Path) -> None:
    lines_with(msgspec.json.Decoder(minimal_loop.Record).decode, path)


def loop(path: Path) -> None:
    minimal_loop.sums(path, minimal_loop.numpy_dice())


def loop_counter(path: Path) -> None:
    minimal_loop.sums(path, minimal_loop.counter_dice())


def loop_without(path: Path) -> None:
    minimal_loop.sums(path, lambda text: 0.0)


def referee(path: Path) -> None:
    quick_checks.referee_sums(path)


def referee_counter(path: Path) -> None:
    quick_checks.without_numpy()
    quick_checks.referee_sums(path)


def referee_without(path: Path) -> None:
    quick_checks.referee_sums(path, without="checks.similarity")


def pydantic_evals(path: Path) -> None:
    """The minimal loop's checks as one evaluator, so that only the framework's own work is added."""
    from pydantic_evals import Case, Dataset
    from pydantic_evals.evaluators import Evaluator, EvaluatorContext

    dice = minimal_loop.numpy_dice()

    class Checks(Evaluator[Any, Any, Any]):
        def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, float]:
            return {f"check {number}": value for number, value in enumerate(minimal_loop.score(ctx.output, dice))}

    decode = msgspec.json.Decoder(minimal_loop.Record).decode
    with path.open("rb") as file:
        cases = [Case(name=str(number), inputs=decode(line)) for number, line in enumerate(file)]
    Dataset(name="runs", cases=cases, evaluators=[Checks()]).evaluate_sync(lambda record: record, progress=False)


#: Each way: its name, what it does with the file, the package that it needs.
WAYS: tuple[tuple[str, Callable[[Path], None], str], ...] = (
    ("decoding alone, json", with_json, "json"),
    ("decoding alone, orjson", with_orjson, "orjson"),
    ("decoding alone, msgspec structs", with_msgspec, "msgspec"),
    ("decoding alone, simdjson", with_simdjson, "simdjson"),
    ("minimal loop", loop, "numpy"),
    ("minimal loop, without NumPy", loop_counter, "msgspec"),
    ("minimal loop, without similarity", loop_without, "msgspec"),
    ("Referee, 11 checks", referee, "numpy"),
    ("Referee, without NumPy", referee_counter, "msgspec"),
    ("Referee, without similarity", referee_without, "msgspec"),
    ("pydantic-evals", pydantic_evals, "pydantic_evals"),
)


def run_way(name: str, path: Path) -> None:
    """Go one way in this process, twice: the first time loads what it needs."""
    way = next(way for known, way, _ in WAYS if known == name)
    head = path.with_name(f"{path.stem}.head")
    way(head)
    start = time.process_time()
    way(path)
    seconds = time.process_time() - start
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))


def measured(name: str, path: Path) -> tuple[float, float]:
    """CPU seconds and peak megabytes of a way, in a process of its own."""
    words = [sys.executable, "-m", "benchmarks", "--way", name, str(path)]
    done = subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    seconds, megabytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, megabytes


def compare_ways(runs: int, rounds: int) -> bool:
    """The table of the ways; whether every bar holds."""
    path = workload.write(quick_checks.DATA / f"runs_{runs}.jsonl", runs)
    with path.open("rb") as file:
        path.with_name(f"{path.stem}.head").write_bytes(b"".join(next(file) for _ in range(min(10, runs))))
    ways = [name for name, _, package in WAYS if find_spec(package)]
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name in ways:
            found[name].append(measured(name, path))
    rates = {name: runs / statistics.median(seconds for seconds, _ in times) for name, times in found.items()}
    print(
        f"| {runs:,} runs, median of {rounds} | runs a CPU second | of the minimal loop | peak MB |\n|---|---:|---:|---:|"
    )
    for name, rate in rates.items():
        peak = statistics.median(megabytes for _, megabytes in found[name])
        share = f"{rate / rates['minimal loop']:.0%}" if "minimal loop" in rates else ""
        print(f"| {name} | {rate:,.0f} | {share} | {peak:.0f} |")
    print()
    held = True
    for name, limit, bar in BARS:
        if name in rates and limit in rates:
            share = rates[name] / rates[limit]
            held = held and share >= bar
            print(f"{'holds' if share >= bar else 'MISSED'}: {name}: {share:.0%} of {limit}, at least {bar:.0%}")
    return held


def large_file(path: Path, count: int) -> Path:
    """A file of so many runs with ids of their own: 10,000 different ones, again and again."""
    source = workload.write(quick_checks.DATA / f"runs_{min(count, _REPEATED)}.jsonl", min(count, _REPEATED))
    lines = source.read_bytes().splitlines(keepends=True)
    with path.open("wb", buffering=1 << 20) as file:
        for number in range(count):
            line = lines[number % len(lines)]
            file.write(b'{"id":"run-%07d"%s' % (number, line[line.index(b",") :]))
    return path


def tree_megabytes(pid: int) -> float:
    """The memory of a process and those it started."""
    total = 0
    for process in (pid, *children(pid)):
        try:
            total += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except (OSError, IndexError):
            continue
    return total * os.sysconf("SC_PAGE_SIZE") / 1e6


def children(pid: int) -> Iterator[int]:
    try:
        found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in map(int, found):
        yield child
        yield from children(child)


def command(path: Path, scorers: Path, output: Path, *more: str) -> tuple[float, float]:
    """Seconds and peak megabytes, all its processes together, of `referee score`."""
    words = [sys.executable, "-m", "referee", "score", str(path), "--scorers", str(scorers), "-o", str(output), *more]
    start = time.perf_counter()
    peak = 0.0
    with subprocess.Popen([*words, "--json"], stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, tree_megabytes(process.pid))
            threading.Event().wait(0.1)
    seconds = time.perf_counter() - start
    if process.returncode != 0:
        sys.exit(f"referee score ended with {process.returncode}")
    output.unlink()
    return seconds, peak


def grow(counts: list[int], workers: int) -> bool:
    """The table of growth; whether memory and time a run stay level."""
    ways: dict[str, tuple[str, ...]] = {
        "one process": (),
        "1 worker": ("--workers", "1"),
        f"{workers} workers": ("--workers", str(workers)),
    }
    found: dict[str, dict[int, tuple[float, float]]] = {name: {} for name in ways}
    print("\n| runs | " + " | ".join(f"{name}: s | runs a second | peak MB" for name in ways) + " |")
    print("|---:|" + "---:|" * (3 * len(ways)))
    with tempfile.TemporaryDirectory(dir=quick_checks.DATA) as folder:
        scorers = Path(folder, "scorers.json")
        scorers.write_text(json.dumps([scorer.spec for scorer in quick_checks.scorers()]))  # type: ignore[attr-defined]
        for count in counts:
            path = large_file(Path(folder, "runs.jsonl"), count)
            cells = []
            for name, more in ways.items():
                seconds, peak = found[name][count] = command(path, scorers, Path(folder, "scores.jsonl"), *more)
                cells.append(f"{seconds:.1f} | {count / seconds:,.0f} | {peak:.0f}")
            path.unlink()
            print(f"| {count:,} | {' | '.join(cells)} |", flush=True)
    print()
    level = [is_level(name, times) for name, times in found.items()]
    return all(level)


def is_level(name: str, times: dict[int, tuple[float, float]]) -> bool:
    most = max(peak for _, peak in times.values())
    problems = [f"{most:.0f} MB is above {MOST_MB}"] if most > MOST_MB else []
    if LEVEL_FROM in times and max(times) > LEVEL_FROM:
        count, (seconds, peak) = max(times.items())
        before_seconds, before_peak = times[LEVEL_FROM]
        slower = (seconds / count) / (before_seconds / LEVEL_FROM)
        print(
            f"{name}: from {LEVEL_FROM:,} to {count:,} runs: time a run x {slower:.3f}, memory x {peak / before_peak:.3f}"
        )
        if slower > MOST_GROWTH:
            problems.append(f"time a run grows by {slower - 1:.0%}")
        if peak / before_peak > MOST_GROWTH:
            problems.append(f"memory grows by {peak / before_peak - 1:.0%}")
    for problem in problems:
        print(f"MISSED: {name}: {problem}")
    return not problems


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="How fast quick checks are.")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--growth", type=int, nargs="*", default=[], metavar="RUNS")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--way", nargs=2, metavar=("NAME", "FILE"), help="one way alone; for the benchmark itself")
    options = parser.parse_args()
    if options.way:
        run_way(options.way[0], Path(options.way[1]))
        return
    held = compare_ways(options.runs, options.rounds)
    if options.growth:
        held = grow(sorted(options.growth), options.workers) and held
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
