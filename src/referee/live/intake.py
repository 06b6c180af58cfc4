"""The intake: takes runs from agents at next to no cost, and works on them at a pace that leaves the interpreter to agents."""

from __future__ import annotations

import itertools
import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping

from referee.live.bindings import Binding
from referee.live.ledger import Ledger, Outcome
from referee.live.submission import Submission

_log = logging.getLogger("referee.live")

#: The share of the interpreter's time that the intake may take while agents work. What is more waits, or is dropped.
_SHARE = 0.1
#: The longest rest after one run, in seconds.
_LONGEST_REST = 0.05
#: Seconds between two looks at an empty queue, and how many looks there are before the thread sleeps until it is woken.
_LOOK = 0.01
_LOOKS = 100


class Intake:
    """Decides which scorers look at a run, reads it, and passes it on.

    Its queue hardly ever wakes its thread: to wake a thread costs an agent more than all the rest.

    Args:
        bindings: The scorers with their filters and samplings, by their names.
        ledger: Counts what becomes of runs, and says whether somebody waits for the end; then there is no rest.
        distribute: Hands a submission to the scorers of these names.
    """

    def __init__(
        self, bindings: Mapping[str, Binding], ledger: Ledger, distribute: Callable[[Submission, list[str]], None]
    ) -> None:
        self._bindings = bindings
        self._ledger = ledger
        self._distribute = distribute
        # Ids of runs that have none: unique, and quicker to make than a UUID each.
        self._origin = uuid.uuid4().hex
        self._numbers = itertools.count(1)
        self._waiting: deque[Submission] = deque()
        self._arrived = threading.Event()
        self._asleep = False
        self._stopped = False

    def put(self, submission: Submission) -> None:
        """Take a submission that the ledger has let in. Never waits."""
        self._waiting.append(submission)
        if self._asleep:
            self._asleep = False
            self._arrived.set()

    def stop(self) -> None:
        """End the thread; what still waits is left."""
        self._stopped = True
        self._arrived.set()

    def run(self) -> None:
        """Work on what arrives, until it is stopped: what the intake's thread does."""
        looks = 0
        while not self._stopped:
            if not self._waiting:
                looks = self._look(looks)
                continue
            looks = 0
            began = time.thread_time()
            self._pass_on(self._waiting.popleft())
            if not self._ledger.awaited:
                time.sleep(min(_LONGEST_REST, (time.thread_time() - began) * (1 / _SHARE - 1)))

    def _look(self, looks: int) -> int:
        """Wait for something to arrive: a moment, or after so many looks in vain until it does."""
        if looks < _LOOKS and not self._ledger.awaited:
            time.sleep(_LOOK)
            return looks + 1
        self._asleep = True
        if not self._waiting:  # it may have arrived before the agent could see that this thread sleeps
            self._arrived.wait()
        self._asleep = False
        self._arrived.clear()
        return 0

    def _pass_on(self, submission: Submission) -> None:
        if not submission.id:
            submission.id = f"{self._origin}-{next(self._numbers)}"
        accepted = self._ledger.decide(self._decisions(submission))
        if accepted:
            submission.read()
            self._distribute(submission, accepted)

    def _decisions(self, submission: Submission) -> list[tuple[str, Outcome | None]]:
        try:
            return [(name, _decide(binding, submission)) for name, binding in self._bindings.items()]
        except Exception:
            _log.exception("what a filter looks at could not be read")
            return [(name, "failed") for name in self._bindings]


def _decide(binding: Binding, submission: Submission) -> Outcome | None:
    """What becomes of a run before it is scored; `None` when it is to be scored."""
    if binding.qualifies is not None and not binding.qualifies(submission.facts):
        return "filtered"
    if binding.sample is not None and not binding.sample(submission.trace_id or submission.id):
        return "sampled_out"
    return None
