"""A store with a million scores: how fast they are written, and how long every question takes.

Run `python -m benchmarks.store`, with `--postgres` for a PostgreSQL server of its own beside SQLite. Half of the
scores belong to five experiments of 10,000 items and ten scorers, half to live traffic of thirty days, in which the
scorers change their version once. A question's time is the median of `--repeats` askings, each with other values; the
slowest is printed beside it. Fails when a rate is below, or a median above, its bar.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from referee import Message, Run, Score, Text, ToolCall
from referee.bounds import Bounds
from referee.scores import JudgeUsage, StepError, Unscored
from referee.storage.columns import ColumnKey
from referee.storage.filters import ScoreFilter
from referee.storage.grid import GridFilter
from referee.storage.scored_runs import ScoredRun
from referee.storage.store import Store

SCORERS = [f"scorer-{letter}" for letter in "abcdefghij"]
RATES = {"SQLite": 20_000, "PostgreSQL": 10_000}
SLOWEST_MS = 100
DAYS = 30
TODAY = datetime(2026, 11, 1, 12, tzinfo=UTC)
ANSWER = "The ferry to Ostend leaves at nine and takes two hours; the last one back leaves at six. " * 4


def score(run: Run, scorer: str, version: str, chance: random.Random) -> Score:
    """A score: 2 % errors, 3 % not scorable, a third 0 or 1, the rest between; one in ten judged."""
    draw = chance.random()
    fields: dict[str, Any] = {"scorer_version": version}
    if draw < 0.02:
        fields["error"] = StepError("analyze", "UnreadableReplyError", "the reply is no JSON", raw_reply="I think yes")
    elif draw < 0.05:
        fields["not_scorable"] = Unscored("preprocess", "the run has no tool results to check the answer against")
    else:
        fields["score"] = float(chance.random() < 0.8) if draw < 0.4 else round(chance.random(), 2)
        fields["reason"] = f"{draw:.3f} of the statements answer the question; one is about the weather"
    if scorer == SCORERS[0]:
        fields["judge"] = {"analyze": JudgeUsage("judge-1", 1, 1, 0, 900, 60, 0.0004, 700.0)}
        fields["analyze_step_result"] = {"results": [{"result": "yes", "reason": "it names the hour"}] * 3}
        fields["analyze_prompt"] = ANSWER * 2
    return Score(run.id, scorer, **fields)


def scored_run(id: str, item: str, version: str, chance: random.Random, started_at: str | None = None) -> ScoredRun:
    """A run of two messages and a tool call with ten scores."""
    call = ToolCall(name="ferries", args={"to": item}, state="result", result={"hours": [9, 14, 18]}, id="call-1")
    run = Run(
        id=id,
        input=[Message("user", [Text(f"When does the ferry of {item} leave?")])],
        output=[Message("assistant", [call, Text(ANSWER)])],
        trace_id=f"trace-{id}",
        thread_id=f"thread-{int(id[-6:], 36) % 5000}" if started_at else None,
        started_at=started_at,
        model="agent-1",
        duration_ms=1200.0,
    )
    return ScoredRun(
        run=run,
        item=item,
        tags=["long" if chance.random() < 0.1 else "short"],
        scores=[score(run, scorer, version, chance) for scorer in SCORERS],
        bounds={SCORERS[1]: Bounds(min=0.5)},
    )


def experiment_runs(name: str, items: int) -> Iterator[ScoredRun]:
    """The runs of one experiment."""
    chance = random.Random(name)
    for number in range(items):
        yield scored_run(f"{name}-{number:06d}", f"item-{number:06d}", "v2", chance)


def live_runs(count: int) -> Iterator[ScoredRun]:
    """Runs of live traffic, in the order of time."""
    chance = random.Random("live")
    for number in range(count):
        at = TODAY - timedelta(days=DAYS * (1 - number / count))
        yield scored_run(f"live-{number:06d}", "", "v1" if number < count / 2 else "v2", chance, at.isoformat())


def fill(store: Store, total: int) -> float:
    """Write the scores; gives the seconds spent in the store."""
    items = total // 2 // 5 // len(SCORERS)
    seconds = 0.0
    sources = [(f"experiment-{number}", None) for number in range(5)] + [("live", "live")]
    for name, kind in sources:
        runs = live_runs(total // 2 // len(SCORERS)) if kind else experiment_runs(name, items)
        while batch := list(islice(runs, 2000)):
            started = time.perf_counter()
            store.save(batch, experiment=name)
            seconds += time.perf_counter() - started
    return seconds


def questions(store: Store, chance: random.Random) -> dict[str, Callable[[], Any]]:
    """Every question that the Studio's pages ask, with values drawn anew at each call."""
    page, scores = store.scores.page, store.scores
    last = store.scores.count().count
    grid = store.experiments.grid
    second = {name: grid("experiment-1", sort=ColumnKey(name), descending=True).next for name in SCORERS}

    def scorer() -> str:
        return chance.choice(SCORERS)

    def deep(where: ScoreFilter, order: Any = "newest") -> Any:
        """A page from somewhere in the middle, found by one of its scores."""
        middle = scores.page(where, limit=1, from_score=chance.randint(1, last)) if where == ScoreFilter() else None
        start = middle.rows[0].number if middle else chance.randint(1, last)
        return scores.page(where, order=order, from_score=start)

    return {
        "first page": page,
        "page deep in": lambda: deep(ScoreFilter()),
        "page of the lowest": lambda: page(order="lowest"),
        "page of a scorer": lambda: page(ScoreFilter(scorer=scorer())),
        "page of a scorer deep in": lambda: deep(ScoreFilter(scorer=scorer())),
        "page of a scorer, lowest first": lambda: page(ScoreFilter(scorer=scorer()), order="lowest"),
        "page of a scorer, lowest first, deep in": lambda: deep(ScoreFilter(scorer=scorer()), "lowest"),
        "page of a version": lambda: page(ScoreFilter(scorer=scorer(), version="v1")),
        "page of an experiment": lambda: page(ScoreFilter(experiment="experiment-1")),
        "page of an experiment, highest first": lambda: page(ScoreFilter(experiment="experiment-1"), order="highest"),
        "page of errors": lambda: page(ScoreFilter(outcomes=("error",))),
        "page of failed of a scorer": lambda: page(ScoreFilter(scorer=SCORERS[1], outcomes=("failed",))),
        "page of errors of an experiment's scorer": lambda: page(
            ScoreFilter(experiment="experiment-2", scorer=scorer(), outcomes=("error",))
        ),
        "page of a range of values": lambda: page(ScoreFilter(at_least=0.3, below=0.35)),
        "page of one value of a scorer": lambda: page(
            ScoreFilter(scorer=scorer(), at_least=(value := chance.randint(1, 99) / 100), at_most=value)
        ),
        "page of values that there are not": lambda: page(ScoreFilter(scorer=scorer(), above=0.501, below=0.509)),
        "page of a day": lambda: page(ScoreFilter(since=date(2026, 10, 12), until=date(2026, 10, 12))),
        "page of errors of a day": lambda: page(
            ScoreFilter(outcomes=("error",), since=date(2026, 10, 12), until=date(2026, 10, 12))
        ),
        "page of an item": lambda: page(ScoreFilter(item=f"item-{chance.randrange(10_000):06d}")),
        "page of a trace": lambda: page(ScoreFilter(trace=f"trace-live-{chance.randrange(50_000):06d}")),
        "page of a thread": lambda: page(ScoreFilter(thread=f"thread-{chance.randrange(5000)}")),
        "page of a tag": lambda: page(ScoreFilter(tag="long")),
        "page of a tag in an experiment": lambda: page(ScoreFilter(tag="long", experiment="experiment-3")),
        "one score": lambda: scores.get(chance.randint(1, last)),
        "histogram of everything": scores.histogram,
        "histogram of a scorer": lambda: scores.histogram(ScoreFilter(scorer=scorer())),
        "histogram of a filtered scorer": lambda: scores.histogram(
            ScoreFilter(scorer=scorer(), above=0.123, experiment="experiment-4")
        ),
        "facets": scores.facets,
        "facets of a filter": lambda: scores.facets(ScoreFilter(scorer=scorer(), at_most=0.42)),
        "facets of a tag": lambda: scores.facets(ScoreFilter(tag="long")),
        "experiments": store.experiments.latest,
        "columns of an experiment": lambda: store.experiments.columns("experiment-1"),
        "grid of an experiment": lambda: grid("experiment-1"),
        "grid sorted by a scorer": lambda: grid("experiment-1", sort=ColumnKey(scorer())),
        "grid sorted by a scorer, next page": lambda: grid(
            "experiment-1", sort=ColumnKey(name := scorer()), descending=True, after=second[name]
        ),
        "grid of what failed": lambda: grid("experiment-1", GridFilter(outcomes=("failed",))),
        "grid of errors": lambda: grid("experiment-1", GridFilter(outcomes=("error",))),
        "grid of a tag": lambda: grid("experiment-1", GridFilter(tag="long")),
        "compare all scorers' figures": lambda: store.experiments.columns_of_both("experiment-1", "experiment-2"),
        "compare a scorer, the worst items first": lambda: store.experiments.compare(
            "experiment-1", "experiment-2", scorer()
        ),
        "trend": lambda: scores.trend(scorer()),
        "trend of live traffic": lambda: scores.trend(scorer(), ScoreFilter(experiment="live")),
    }


def measure(name: str, url: str, total: int, repeats: int, only: str) -> bool:
    """Fill a store, ask every question, print the table; true when every bar holds."""
    store = Store(url)
    seconds = fill(store, total)
    rate = total / seconds
    good = rate >= RATES[name]
    print(f"\n## {name}: {total:,} scores at {rate:,.0f} a second (bar {RATES[name]:,})\n")
    print("| question | median ms | slowest ms |\n|---|---|---|")
    for title, ask in questions(store, random.Random(1)).items():
        if only not in title:
            continue
        times = []
        for _ in range(repeats):
            started = time.perf_counter()
            ask()
            times.append((time.perf_counter() - started) * 1000)
        median = statistics.median(times)
        good &= median < SLOWEST_MS
        print(f"| {title} | {median:.1f} | {max(times):.1f} |{' **over the bar**' if median >= SLOWEST_MS else ''}")
    store.close()
    return good


def main() -> None:
    """Measure one or both databases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scores", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", default="", help="ask only questions with this in their name")
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--no-sqlite", action="store_true")
    given = parser.parse_args()
    good = True
    with ExitStack() as stack:
        if not given.no_sqlite:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="referee-store-"))
            good &= measure("SQLite", f"{folder}/scores.db", given.scores, given.repeats, given.only)
        if given.postgres:
            from postgres import running_server

            server = stack.enter_context(running_server())
            good &= measure("PostgreSQL", server.url, given.scores, given.repeats, given.only)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
