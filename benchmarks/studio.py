"""The Studio's pages over a store with a million scores: how long each takes, and how much goes over the wire.

Run `python -m benchmarks.studio`; `--store FILE` keeps the store for the next time. The store is that of
`benchmarks.store`: five experiments of 10,000 items and ten scorers, and as much live traffic; besides, a data set of
10,000 items in two versions, 200 labels and 20 jobs. Each page is asked for
over a socket from the server in a process of its own, compressed, each time with other values; the time is the median.
Prints also how long it takes from the start of the command to the first page. Fails when a bar does not hold.
"""

from __future__ import annotations

import argparse
import http.client
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.store import SCORERS, TODAY, fill
from referee import Item
from referee.storage.filters import ScoreFilter
from referee.storage.jobs import JobPlan
from referee.storage.recorded_runs import RunFilter
from referee.storage.store import Store
from referee.studio.query import address

SLOWEST_MS, MOST_BYTES, SLOWEST_START_S = 150, 150_000, 1.0
#: So many starts are measured.
STARTS = 7


ITEMS, CHANGED, LABELS, JOBS = 10_000, 2_000, 200, 20


def complete(store: Store) -> None:
    """Add what the store of `benchmarks.store` has not: a data set, labels, dropped runs and jobs."""
    name = store.datasets.create("ferries").name
    items = [
        Item(id=f"item-{place:06d}", input=f"When does ferry {place} leave?", tags=["long"]) for place in range(ITEMS)
    ]
    store.datasets.put(name, items)
    store.datasets.put(name, [Item(id=item.id, input="And back?") for item in items[:CHANGED]])
    for row in store.scores.page(ScoreFilter(scorer=SCORERS[0], at_least=0), limit=LABELS).rows:
        store.label(round(row.value or 0), author="ann", score=row.number)
    store.live.add_drops({(scorer, "queue_full"): 7 for scorer in SCORERS})
    for _ in range(JOBS):
        store.jobs.add(
            JobPlan(where=RunFilter(experiment="experiment-1"), scorers=["checks.no_tool_errors"]), total=ITEMS
        )


def pages(store: Store, chance: random.Random) -> dict[str, Callable[[], str]]:
    """Every page, with values drawn anew at each call."""
    last = store.scores.count().count
    items = last // 2 // 5 // len(SCORERS)

    def experiment() -> str:
        return f"experiment-{chance.randrange(1, 5)}"

    def scorer() -> str:
        return chance.choice(SCORERS)

    def item() -> str:
        return f"item-{chance.randrange(items):06d}"

    def number() -> int:
        return chance.randint(1, last)

    def grid(**more: object) -> str:
        return address("/experiment", {"key": experiment(), "baseline": "experiment-0", **more})

    def compared(**more: object) -> str:
        return address("/compare", {"first": "experiment-0", "second": experiment(), "scorer": scorer(), **more})

    def opened() -> str:
        chosen = item()
        found = [
            store.scores.page(ScoreFilter(experiment=f"experiment-{place}", item=chosen, scorer=SCORERS[0]), limit=1)
            for place in (0, 1)
        ]
        sides = {"first_score": found[0].rows[0].number, "second_score": found[1].rows[0].number}
        return address(
            "/compare",
            {"first": "experiment-0", "second": "experiment-1", "scorer": SCORERS[0], "item": chosen, **sides},
        )

    return {
        "overview": lambda: "/",
        "experiment": grid,
        "experiment, sorted": lambda: grid(sort=scorer()),
        "experiment, failed": lambda: grid(outcome="failed"),
        "experiment, errors of a scorer": lambda: grid(outcome="error", scorer=scorer()),
        "experiment, a score opened": lambda: grid(score=number()),
        "scores": lambda: "/scores",
        "scores of a scorer": lambda: address("/scores", {"scorer": scorer()}),
        "scores, lowest first": lambda: address("/scores", {"scorer": scorer(), "order": "lowest"}),
        "scores, a range of values": lambda: address("/scores", {"scorer": scorer(), "at_least": 0.3, "below": 0.47}),
        "scores, a tag": lambda: address("/scores", {"tag": "long"}),
        "scores, a deep link": lambda: address("/scores", {"score": number()}),
        "score": lambda: address("/score", {"number": number()}),
        "compare": compared,
        "compare, the worse ones": lambda: compared(change="worse"),
        "compare, an item opened": opened,
        "one item compared": lambda: address(
            "/compared-item", {"first": "experiment-0", "second": experiment(), "item": item()}
        ),
        "runs": lambda: "/runs",
        "runs of an experiment": lambda: address("/runs", {"experiment": experiment()}),
        "runs, a tag": lambda: address("/runs", {"tag": "long"}),
        "runs of an item": lambda: address("/runs", {"item": item()}),
        "run": lambda: address("/run", {"number": chance.randint(1, last // len(SCORERS))}),
        "scorers": lambda: "/scorers",
        "scorer": lambda: address("/scorer", {"scorer": scorer(), "cut": 0.5}),
        "scorer against another": lambda: address("/scorer", {"scorer": SCORERS[0], "against": SCORERS[1], "cut": 0.5}),
        "scorer against another, in an experiment": lambda: address(
            "/scorer", {"scorer": scorer(), "against": scorer(), "experiment": experiment(), "cut": 0.5}
        ),
        "data sets": lambda: "/datasets",
        "data set": lambda: address("/dataset", {"name": "ferries", "after": chance.randrange(ITEMS - 100)}),
        "data set, an earlier version": lambda: address("/dataset", {"name": "ferries@1"}),
        "data set, changes": lambda: address("/dataset-changes", {"name": "ferries"}),
        "item": lambda: address("/item", {"dataset": "ferries", "item": item()}),
        "labels": lambda: "/labels",
        "labels, the queue": lambda: address("/labels", {"scorer": scorer(), "author": "ann", "cut": 0.5}),
        "labels, the queue in an experiment": lambda: address(
            "/labels", {"scorer": scorer(), "author": "ann", "experiment": experiment(), "cut": 0.5}
        ),
        "live": lambda: address("/live", {"until": TODAY.date()}),
        "jobs": lambda: "/jobs",
        "job": lambda: address("/job", {"number": chance.randint(1, JOBS)}),
        "new job": lambda: address("/new-job", {"experiment": experiment()}),
        "api": lambda: "/api",
    }


class Server:
    """`referee studio` in a process of its own."""

    def __init__(self, path: str) -> None:
        started = time.perf_counter()
        command = [sys.executable, "-c", "from referee.cli import main; main()", "studio", path, "--port", "0"]
        # An installed package is compiled; one in a working tree must be allowed to keep what it compiled.
        kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=kept)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rstrip().rstrip("/").rpartition(":")[2])
        self.get("/")
        self.start_seconds = time.perf_counter() - started

    def get(self, link: str) -> tuple[float, float, int]:
        """Milliseconds on the clock and of the server's processor, and bytes on the wire."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        busy = self._busy_ms()
        started = time.perf_counter()
        connection.request("GET", link, headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        size = len(answer.read())
        took = (time.perf_counter() - started) * 1000
        connection.close()
        assert answer.status == 200, (link, answer.status)
        return took, self._busy_ms() - busy, size

    def _busy_ms(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def start_seconds(path: str) -> float:
    """The seconds from the command to the first page."""
    server = Server(path)
    server.process.kill()
    server.process.wait()
    return server.start_seconds


def main() -> None:
    """Measure every page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scores", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--store", help="a file; made when it is missing")
    given = parser.parse_args()
    good = True
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="referee-studio-"))
        path = given.store or f"{folder}/scores.db"
        is_new = not Path(path).exists()
        store = stack.enter_context(Store(path))
        if is_new:
            fill(store, given.scores)
            complete(store)
        starts = [start_seconds(path) for _ in range(STARTS + 1)][1:]  # the first brings the files into memory
        print(
            f"{store.scores.count().count:,} scores; start to first page: median of {STARTS} "
            f"{statistics.median(starts):.2f} s, {min(starts):.2f} to {max(starts):.2f}"
        )
        good &= statistics.median(starts) < SLOWEST_START_S
        server = Server(path)
        stack.callback(server.process.kill)
        print("\n| page | median ms | processor ms | bytes |\n|---|---|---|---|")
        for title, link in pages(store, random.Random(1)).items():
            server.get(link())
            asked = [server.get(link()) for _ in range(given.repeats)]
            median, busy = (statistics.median(answer[place] for answer in asked) for place in (0, 1))
            size = max(answer[2] for answer in asked)
            holds = median < SLOWEST_MS and size < MOST_BYTES
            good &= holds
            print(
                f"| {title} | {median:.0f} | {busy:.0f} | {size:,} |{'' if holds else ' **over the bar**'}", flush=True
            )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
