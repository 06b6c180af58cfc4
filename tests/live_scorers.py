"""Scorers of one's own for the tests of live scoring, known to child processes as `live_scorers:NAME`."""

from __future__ import annotations

import os
import sys
import threading

from referee import Run


def length(run: Run) -> float:
    """How long the answer is, in hundreds of characters."""
    return min(1.0, len(run.output_text) / 100)


def process(run: Run) -> bool:
    """Whether this is another process than the one that the run names."""
    return str(os.getpid()) != run.output_text


def prints(run: Run) -> bool:
    """Prints, reads, and passes."""
    print("a line of the scorer")
    return sys.stdin.read() == ""


def raises(run: Run) -> bool:
    """Fails."""
    raise LookupError("nothing found")


def hangs(run: Run) -> bool:
    """Never comes back when it is asked to hang."""
    if "hang" in run.output_text:
        threading.Event().wait()
    return True


def crashes(run: Run) -> bool:
    """Ends its process when it is asked to."""
    if "crash" in run.output_text:
        os._exit(7)
    return True


def exits(run: Run) -> bool:
    """Leaves the program."""
    sys.exit("enough")
