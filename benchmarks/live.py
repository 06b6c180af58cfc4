"""What live scoring adds to an agent's calls, at full load, against the same agent without it in the same run.

Use: python -m benchmarks.live [CALLS]

While it measures, a scorer takes all of another processor, others hang and raise, and every queue overflows. Calls of the
agent with and without `@live.scored` alternate at random. The quiet agent is measured first, when nothing else runs.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from typing import Any

from referee import Run, checks, create_scorer
from referee.live import Live
from referee.storage.store import Store

#: Median of what is added to a call, in microseconds.
BAR = 100.0

TALK = [
    {"role": "user", "content": "When does the next ferry to the island leave, and what does it cost?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "timetable", "arguments": '{"line": "island"}'}},
            {"id": "c2", "type": "function", "function": {"name": "fares", "arguments": '{"line": "island"}'}},
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"departures": ["09:00", "11:30", "14:00"]}'},
    {"role": "tool", "tool_call_id": "c2", "content": '{"adult": 12.5, "child": 6}'},
    {"role": "assistant", "content": "The next ferry leaves at nine. It costs 12.50 for adults and 6 for children."},
]


def busy(run: Run) -> bool:
    """A scorer that takes a tenth of a second of a processor."""
    until = time.process_time() + 0.1
    while time.process_time() < until:
        pass
    return True


def hangs(run: Run) -> bool:
    """A scorer that never comes back."""
    threading.Event().wait()
    return True


def raises(run: Run) -> bool:
    """A scorer that fails."""
    raise LookupError("nothing found")


async def hangs_async(run: Run) -> bool:
    """An asynchronous scorer that never comes back."""
    await asyncio.Event().wait()
    return True


def scorers() -> dict[str, Any]:
    return {
        "check": checks.includes("ferry"),
        "calls": checks.called_tool("timetable"),
        "completeness": "completeness",
        "busy": "benchmarks.live:busy",
        "hangs_apart": "benchmarks.live:hangs",
        "hangs": create_scorer(id="hangs-here").generate_score(hangs),
        "raises": create_scorer(id="raises-here").generate_score(raises),
        "hangs_async": hangs_async,
        "sampled": {"scorer": checks.max_tool_calls(3), "sampling": {"type": "ratio", "rate": 0.1}},
    }


def instant(question: str) -> list[dict[str, Any]]:
    """An agent that only answers: what is left is the cost of the recording itself."""
    return TALK


def computing(question: str) -> list[dict[str, Any]]:
    """An agent that computes for a millisecond."""
    until = time.perf_counter() + 0.001
    while time.perf_counter() < until:
        pass
    return TALK


async def waiting(question: str) -> list[dict[str, Any]]:
    """An agent that waits for two milliseconds, as for a model."""
    await asyncio.sleep(0.002)
    return TALK


async def streaming(question: str) -> Any:
    """An agent that streams twenty pieces."""
    for _ in range(20):
        await asyncio.sleep(0)
        yield "a piece of the answer "


async def consumed(stream: Any) -> None:
    async for _ in stream:
        pass


def caller(agent: Any) -> Callable[[], Any]:
    """Calls an agent of any kind."""

    async def call() -> None:
        given = agent("When does the next ferry leave?")
        if hasattr(given, "__aiter__"):
            await consumed(given)
        elif hasattr(given, "__await__"):
            await given

    return call


async def durations(call: Callable[[], Any], count: int) -> list[float]:
    return [await duration(call) for _ in range(count)]


async def duration(call: Callable[[], Any]) -> float:
    began = time.perf_counter()
    await call()
    return (time.perf_counter() - began) * 1e6


async def alternating(
    plain: Callable[[], Any], scored: Callable[[], Any], count: int
) -> tuple[list[float], list[float]]:
    """The durations of both, in random order."""
    random_order = random.Random(1)
    without, with_it = [], []
    while min(len(without), len(with_it)) < count:
        if random_order.random() < 0.5:
            without.append(await duration(plain))
        else:
            with_it.append(await duration(scored))
    return without, with_it


def shown(name: str, values: list[float]) -> str:
    ordered = sorted(values)
    last = ordered[min(len(ordered) - 1, int(len(ordered) * 0.999))]
    return f"{name} median {statistics.median(ordered):9.1f}  99.9th {last:10.1f}"


def main(calls: int) -> int:
    agents = (instant, computing, waiting, streaming)
    quiet = {agent.__name__: asyncio.run(durations(caller(agent), calls)) for agent in agents}
    worst = 0.0
    drops: list[Any] = []
    with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/scores.db") as store:
        live = Live(scorers(), store=store, queue_size=50, timeout=5, on_drop=drops.append)
        warm_up = live.scored(instant)
        for _ in range(200):  # every queue is full before anything is measured
            warm_up("When does the next ferry leave?")
            time.sleep(0.005)
        for agent in agents:
            name = agent.__name__
            without, with_it = asyncio.run(alternating(caller(agent), caller(live.scored(agent)), calls))
            added = statistics.median(with_it) - statistics.median(without)
            added_to_quiet = statistics.median(with_it) - statistics.median(quiet[name])
            worst = max(worst, added)
            print(f"{name} ({calls} calls each, microseconds)")
            print("  " + shown("quiet, no live scoring  ", quiet[name]))
            print("  " + shown("beside it, undecorated  ", without))
            print("  " + shown("decorated               ", with_it))
            print(f"  added: {added:.1f} to the undecorated, {added_to_quiet:.1f} to the quiet")
        live.close(5)
        for name, counts in live.counts.items():
            assert counts.balanced, name
            print(f"{name:13} {counts}")
        assert live.counts["busy"].dropped
        assert sum(drop.count for drop in drops) == sum(counts.dropped for counts in live.counts.values())
    print(f"largest median added: {worst:.1f} microseconds (bar {BAR:g}): {'holds' if worst < BAR else 'MISSED'}")
    return 0 if worst < BAR else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000))
