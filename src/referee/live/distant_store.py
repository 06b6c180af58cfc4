"""The store at the other end of a child process: writing takes the processor, which the agent needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from referee.errors import StoreError
from referee.live import wire
from referee.live.process import ChildEndedError, ChildProcess
from referee.pipeline import Scorer

#: Seconds that one write may take: longer than a store waits for another writer.
_TO_WRITE = 300.0


class DistantStore:
    """Saves runs with their scores through a child process.

    Args:
        address: The store's address. Its scorers are registered there already.
    """

    def __init__(self, address: str) -> None:
        self._child = ChildProcess("store", address)

    def save(self, records: Iterable[Any], *, experiment: str, scorers: Sequence[Scorer[Any, Any]]) -> None:
        """Save runs with their scores (`ScoredRun`).

        Raises:
            StoreError: The store can't be written.
        """
        self._ask(experiment, wire.encode_list(list(records)))

    def add_drops(self, drops: Mapping[tuple[str, str], int]) -> None:
        """Count runs that were dropped today, by scorer and reason.

        Raises:
            StoreError: The store can't be written.
        """
        self._ask(wire.DROPS, wire.encode([[*key, count] for key, count in drops.items()]))

    def _ask(self, name: str, content: bytes) -> None:
        try:
            problem = self._child.ask([name.encode(), content], _TO_WRITE)
        except ChildEndedError as ended:
            raise StoreError(f"the storing process {ended}") from None
        if problem:
            raise StoreError(problem.decode())

    def expire(self, now: float) -> None:
        """End a child that has written for too long."""
        self._child.expire(now)

    def kill(self) -> None:
        """End the child from another thread, in the middle of a write."""
        self._child.kill()

    def end(self) -> None:
        """End the child."""
        self._child.end()

    def forget(self) -> None:
        """Let go of the parent's child."""
        self._child.forget()
