"""The Studio as its command serves it, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path


class Served:
    """A store that is served by the command.

    Args:
        path: The store.
        options: Of the command.
        environment: Added to the process's.
    """

    def __init__(self, path: Path, *options: str, **environment: str) -> None:
        start = "from referee.cli import main; main()"
        command = [sys.executable, "-c", start, "studio", str(path), "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment})
        assert self.process.stdout is not None
        self.base = self.process.stdout.readline().split()[-1].rstrip("/")

    def __enter__(self) -> Served:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End it as Ctrl-C does."""
        self._end(self.process.terminate)

    def kill(self) -> None:
        """End it without a word, as a crash does."""
        self._end(self.process.kill)

    def _end(self, how: Callable[[], None]) -> None:
        if self.process.poll() is None:
            how()
            self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()
