"""A program that writes into a store until it is killed. It prints how many records are saved, after each save.

Run `python tests/killed_store.py URL START` to write; `python tests/killed_store.py --kill URL TIMES SEED` kills it so
many times at random moments and looks at the store each time.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from referee import Message, Run, Score, Text
from referee.errors import StoreError
from referee.storage import ScoredRun, Store
from referee.storage.filters import ScoreFilter

SCORERS = ("a", "b", "c")
RECORDS = 5
EXPERIMENT = "killed"


def record(number: int) -> ScoredRun:
    """A run with three scores, of which one is an error at first."""
    run = Run(id=f"run-{number}", output=[Message("assistant", [Text(f"answer {number} " * 50)])])
    scores = [Score(run.id, name, number % 10 / 10, f"because of {number}", "v1") for name in SCORERS]
    return ScoredRun(run=run, scores=scores, item=f"item-{number:06d}", tags=["killed"])


def write(url: str, start: int) -> None:
    """Save batch after batch, for ever; say after each one how far it is."""
    with Store(url) as store:
        number = start
        while True:
            store.save([record(number + place) for place in range(RECORDS)], experiment=EXPERIMENT)
            number += RECORDS
            print(number, flush=True)


def kill_while_writing(url: str, times: int, seed: int) -> Iterator[int]:
    """Kill a writer at random moments, and check the store each time. Gives how many records it holds."""
    chance = random.Random(seed)
    saved = 0
    for _ in range(times):
        command = [sys.executable, str(Path(__file__).resolve()), url, str(saved)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            told = [int(process.stdout.readline())]
            time.sleep(chance.random() * 0.3)
            process.send_signal(signal.SIGKILL)
            told += [int(line) for line in process.stdout.read().splitlines() if line]
        saved = check(url, told[-1])
        yield saved


def check(url: str, least: int) -> int:
    """What is in the store is whole, once, and at least as much as the writer said. Gives how many records there are."""
    with Store(url) as store:
        assert store.check() == []
        experiment = store.experiments.get(EXPERIMENT)
        saved = experiment.results
        assert saved >= least, f"{saved} records are there, {least} were reported as saved"
        assert saved % RECORDS == 0, f"a batch is there in part: {saved} records"
        assert store.scores.count(ScoreFilter(experiment=EXPERIMENT)).count == saved * len(SCORERS)
        info = store.info()
        assert info.rows["scores"] == info.rows["score_details"] == saved * len(SCORERS)
        assert info.rows["run_contents"] == info.rows["runs"] == info.rows["run_tags"] == saved
        items = set()
        after = None
        while True:
            page = store.experiments.grid(EXPERIMENT, limit=1000, after=after)
            items |= {row.item for row in page.rows}
            assert all(cell is not None for row in page.rows for cell in row.cells)
            after = page.next
            if after is None:
                break
        assert items == {f"item-{number:06d}" for number in range(saved)}
    return saved


if __name__ == "__main__":
    if sys.argv[1] == "--kill":
        for held in kill_while_writing(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])):
            print(f"{held} records, whole")
    else:
        try:
            write(sys.argv[1], int(sys.argv[2]))
        except StoreError as error:
            sys.exit(str(error))
