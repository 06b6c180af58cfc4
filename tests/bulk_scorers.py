"""Scorers that disturb the process in which they run, at one run and as often as they are told."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path

from referee import PromptStep, Run, Score, create_scorer


def fraction(run: Run) -> float:
    """A number that is no short decimal."""
    return (len(run.output_text) % 7) / 7


def often_fails(run: Run) -> float:
    """Fails on some runs."""
    if len(run.output_text) % 5 == 0:
        raise LookupError("nothing found")
    return 1.0


def cut_letter(run: Run) -> Score:
    """A reason with half of a letter."""
    return Score(run.id, "cut_letter", 0.0, "cut \ud83d")


def ends_worker(run: Run) -> bool:
    """Ends this process at one run."""
    _disturb(run, lambda: os.kill(os.getpid(), signal.SIGKILL))
    return True


def signals_command(run: Run) -> bool:
    """Sends a signal to the command at one run."""
    _disturb(run, lambda: os.kill(os.getppid(), int(os.environ["BULK_SIGNAL"])))
    return True


def _disturb(run: Run, act: object) -> None:
    """Act at the run that `BULK_RUN` names, so often as the file `BULK_TIMES` has bytes; each time takes one."""
    if run.id != os.environ.get("BULK_RUN"):
        return
    left = Path(os.environ["BULK_TIMES"])
    if left.stat().st_size:
        os.truncate(left, left.stat().st_size - 1)
        act()  # type: ignore[operator]


#: Asks the judge one question about each run.
judged = create_scorer(id="judged").generate_score(PromptStep(lambda run: f"How good is {run.id}?", returns=float))


def held_off_head(run: Run) -> bool:
    """On every machine but the head of the cluster: say so, and never end."""
    import ray

    reached = Path(os.environ["BULK_REACHED"])
    if ray.get_runtime_context().get_node_id() != reached.with_suffix(".head").read_text():
        reached.touch()
        threading.Event().wait()
    return True
