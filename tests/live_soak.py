"""Live scoring at full load for a while: `python tests/live_soak.py [SECONDS]`.

Agents of every kind run in several threads as fast as they can, while scorers work, hang, raise, crash and are overrun.
At the end memory has not grown, every run is accounted for, and every accepted run has exactly one stored score of each
scorer.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import text

import live_scorers
from referee import Run, checks, create_scorer, not_scorable
from referee.live import Counts, Live, request
from referee.storage.store import Store

_THREADS = 3
#: Mebibytes by which the memory of this process may be higher in the last third of the time than in the second.
_GROWTH = 8.0
#: Mebibytes of the largest child at any time: the storing one fills SQLite's cache of 64 MiB, and grows no further.
_LARGEST_CHILD = 140.0
_SCORERS = Path(__file__).parent


def hangs(run: Run) -> bool:
    threading.Event().wait()
    return True


def finds_nothing(run: Run) -> Any:
    return not_scorable("no documents") if "nothing" in run.output_text else True


async def judges(run: Run) -> float:
    await asyncio.sleep(0.005)
    if "crash" in run.output_text:
        raise LookupError("no verdict")
    return 0.5


async def hangs_async(run: Run) -> float:
    await asyncio.Event().wait()
    return 0.5


def scorers() -> dict[str, Any]:
    pro = {"op": "eq", "left": {"path": "context.plan"}, "right": {"literal": "pro"}}
    return {
        "check": checks.includes("sunny"),
        "completeness": "completeness",
        "process": "live_scorers:length",
        "crashes": "live_scorers:crashes",
        "hangs_apart": "live_scorers:hangs",
        "hangs": create_scorer(id="hangs-here").generate_score(hangs),
        "raises": create_scorer(id="raises-here").generate_score(live_scorers.raises),
        "nothing": create_scorer(id="nothing-here").generate_score(finds_nothing),
        "judges": judges,
        "hangs_async": hangs_async,
        "sampled": {"scorer": checks.excludes("rain"), "sampling": {"type": "ratio", "rate": 0.2}},
        "filtered": {"scorer": checks.no_tool_errors(), "filter": pro, "sampling": {"type": "ratio", "rate": 0.5}},
    }


_ANSWERS = ("crash", "hang", "nothing " * 20, *["It is sunny.", "It is sunny, and the sea is calm. " * 30] * 20)


class Agents:
    """Runs agents of every kind until it is told to stop."""

    def __init__(self, live: Live) -> None:
        self.calls = [0] * _THREADS
        self._live = live
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(_THREADS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        live = self._live

        @live.scored
        def plain(answer: str) -> list[dict[str, Any]]:
            return [{"role": "user", "content": "Weather?"}, {"role": "assistant", "content": answer}]

        @live.scored
        def stream(answer: str) -> Iterator[str]:
            yield from (answer[:5], answer[5:])

        @live.scored
        async def later(answer: str) -> str:
            await asyncio.sleep(0)
            return answer

        @live.scored
        async def later_stream(answer: str) -> AsyncIterator[str]:
            yield answer

        async def rounds() -> None:
            while not self._stop.is_set():
                answer = _ANSWERS[self.calls[number] % len(_ANSWERS)]
                with request(context={"plan": "pro" if self.calls[number] % 3 else "free"}, thread_id=f"t{number}"):
                    assert plain(answer)[1]["content"] == answer
                    assert "".join(stream(answer)) == answer
                    assert await later(answer) == answer
                    assert [part async for part in later_stream(answer)] == [answer]
                self.calls[number] += 4
                await asyncio.sleep(0.001)

        asyncio.run(rounds())


def memory() -> tuple[float, float]:
    """Mebibytes of this process, and of the largest of its children."""
    children = [pid for task in Path("/proc/self/task").glob("*/children") for pid in task.read_text().split()]
    return resident("self"), max(map(resident, children), default=0.0)


def resident(pid: str) -> float:
    """Mebibytes of a process; none when it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
    except OSError:
        return 0.0


def stored(store: Store) -> dict[str, tuple[int, int]]:
    """By scorer id, how many scores there are, and of how many runs."""
    with store.database.read() as connection:
        query = "SELECT scorers.scorer_id, COUNT(*), COUNT(DISTINCT scores.run) FROM scores JOIN scorers ON scorers.id = scores.scorer GROUP BY 1"
        return {name: (count, runs) for name, count, runs in connection.execute(text(query))}


def soak(seconds: float, folder: Path) -> None:
    """Run for so many seconds.

    Raises:
        AssertionError: Memory grew, a run is not accounted for, or a score is missing or there twice.
    """
    if str(_SCORERS) not in sys.path:
        sys.path.insert(0, str(_SCORERS))
    told: Counter[str] = Counter()
    used: list[tuple[float, float]] = []
    with Store(folder / "scores.db") as store:
        live = Live(
            scorers(),
            store=store,
            queue_size=100,
            timeout=2,
            on_drop=lambda drop: told.update({drop.scorer: drop.count}),
        )
        agents = Agents(live)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            used.append(memory())
            assert all(counts.balanced for counts in live.counts.values()), live.counts
            time.sleep(seconds / 60)
        agents.stop()
        live.close(10)  # in vain: some scorers hang
        in_store = stored(store)
    show(live.counts, used)
    assert_accounted(live, sum(agents.calls), told, in_store)
    assert_all_happened(live.counts)
    own, largest_child = zip(*used, strict=True)
    assert_flat(own)
    assert max(largest_child) < _LARGEST_CHILD


def assert_accounted(live: Live, calls: int, told: Counter[str], in_store: dict[str, tuple[int, int]]) -> None:
    """Every run is in one number, every drop was told, and what was finished is stored once."""
    for name, each in live.counts.items():
        assert each.balanced, (name, each)
        assert each.pending == 0
        assert each.received == calls
        assert told[name] == each.dropped
        finished = each.scored + each.not_scorable + each.failed
        assert in_store.get(live._bindings[name].scorer.id, (0, 0)) == (finished, finished), name


def assert_all_happened(counts: dict[str, Counts]) -> None:
    """The soak was one: everything that can become of a run became of some."""
    assert counts["check"].scored
    assert counts["hangs"].failed
    assert counts["judges"].scored
    assert counts["nothing"].not_scorable
    assert counts["sampled"].sampled_out
    assert counts["filtered"].filtered
    assert counts["hangs_apart"].dropped


def assert_flat(used: Sequence[float]) -> None:
    """The medians of the second and the last third of the time are alike."""
    third = len(used) // 3
    middle, last = statistics.median(used[third : 2 * third]), statistics.median(used[2 * third :])
    assert last - middle < _GROWTH, f"memory grew from {middle:.1f} to {last:.1f} MiB"


def show(counts: dict[str, Counts], used: list[tuple[float, float]]) -> None:
    print("memory in MiB, of this process and its largest child:")
    for own, largest in used[:: max(1, len(used) // 6)]:
        print(f"  {own:7.1f} {largest:7.1f}")
    for name, each in counts.items():
        print(f"  {name:13} {each}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        soak(float(sys.argv[1]) if len(sys.argv) > 1 else 600.0, Path(temporary))
    print("the soak holds")
