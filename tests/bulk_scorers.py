"""Scorers that disturb the process in which they run, at one run and as often as they are told."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from referee import Run


def fraction(run: Run) -> float:
    """A number that is no short decimal."""
    return (len(run.output_text) % 7) / 7


def often_fails(run: Run) -> float:
    """Fails on some runs."""
    if len(run.output_text) % 5 == 0:
        raise LookupError("nothing found")
    return 1.0


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
