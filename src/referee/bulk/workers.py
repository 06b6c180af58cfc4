"""Scores shards in worker processes of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import IO, Any

from referee.bulk.job import Job
from referee.bulk.scoring import Part, count_lines
from referee.bulk.shards import Shard
from referee.errors import OptionError
from referee.live import wire

#: So many times a shard is tried before it is given up.
_ATTEMPTS = 2
#: So many shards for each worker may be under way or done and waiting for their turn.
_SHARDS_A_WORKER = 3
#: So much may wait of a shard whose turn has not come; then its worker waits too.
_WAITING_BYTES = 4 << 20
_PIPE_BYTES = 1 << 20
#: Seconds in which a thread notices that its worker has ended.
_TO_STOP = 5.0
#: A worker looks for modules where this process does, also where that was changed after the start.
_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from referee.bulk.worker import main; main()"
#: An interrupt at the terminal is for this process, which decides what becomes of its workers.
_APART: dict[str, Any] = {"process_group": 0} if os.name == "posix" else {}


class _Worker:
    """A worker process, and the thread that reads from it; the thread reads on when it is told to."""

    def __init__(self, order: bytes, events: SimpleQueue[tuple[_Worker, wire.Frame | None]]) -> None:
        self.shard: Shard | None = None
        self._events = events
        self._may_read = threading.Semaphore(1)
        self._process = subprocess.Popen(  # noqa: S603 - our own program, without a shell
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            **_APART,
        )
        _widen(self._process.stdout)
        self._send(order)
        self._reading = threading.Thread(target=self._read, name="referee-worker", daemon=True)
        self._reading.start()

    def give(self, shard: Shard) -> None:
        """Have a shard scored."""
        self.shard = shard
        self._send(wire.encode(shard))

    def read_on(self) -> None:
        """Read what comes next."""
        self._may_read.release()

    def expect_end(self) -> None:
        """Let a process that has closed its pipe end by itself, so that its exit code says why."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_TO_STOP)

    def end(self) -> int:
        """End the process; its exit code, below 0 for a signal."""
        if self._process.poll() is None:
            self._process.kill()
        code = self._process.wait()
        # The thread must be done with a pipe's number before that may be given to another file.
        self.read_on()
        self._reading.join(_TO_STOP)
        if self._reading.is_alive():
            return code
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        return code

    def _send(self, frame: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended: the thread that reads says so
            wire.send(self._process.stdin.fileno(), frame)

    def _read(self) -> None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        frame: wire.Frame | None = b""
        while frame is not None:
            self._may_read.acquire()
            try:
                frame = wire.receive(descriptor)
            except OSError:
                frame = None
            self._events.put((self, frame))


def _widen(pipe: IO[bytes] | None) -> None:
    """Let more lie in a pipe than its first 64 KB, where that is possible: a part is read in a few steps then."""
    if sys.platform == "linux" and pipe is not None:
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


class _Turn:
    """A shard under way: what has come of it, and how often it was tried."""

    def __init__(self, shard: Shard) -> None:
        self.shard = shard
        self.parts: deque[Part] = deque()
        self.attempts = 1
        self.worker: _Worker | None = None

    @property
    def waiting(self) -> int:
        """The bytes that wait."""
        return sum(len(content) for part in self.parts for content in part.payloads)


class LocalWorkers:
    """Scores shards in so many processes, each started anew with a fresh interpreter.

    A worker that ends is replaced and its shard is done once more, from where its parts ended. When that fails too the
    shard gives a part that says so, and the others go on.

    Args:
        job: The job.
        count: How many processes.
        keeps_order: Whether parts are given in the order of the input; else as they come.
    """

    sends_content = True

    def __init__(self, job: Job, count: int, *, keeps_order: bool) -> None:
        self._order = wire.encode(job)
        self.processes = self._count = count
        self._keeps_order = keeps_order
        self._events: SimpleQueue[tuple[_Worker, wire.Frame | None]] = SimpleQueue()
        self._workers: list[_Worker] = []
        self._turns: dict[int, _Turn] = {}

    def parts(self, shards: Iterator[Shard]) -> Iterator[tuple[Shard, Part]]:
        """Score the shards, taken one by one as workers are free.

        Raises:
            OptionError: The shards can't be scored at all.
        """
        try:
            self._feed(shards)
            while self._turns:
                worker, frame = self._events.get()
                if frame is None:
                    self._replace(worker)
                elif frame:
                    self._take(worker, wire.decode(frame, Part))
                yield from self._ready()
                self._feed(shards)
        finally:
            for worker in self._workers:
                worker.end()

    def _feed(self, shards: Iterator[Shard]) -> None:
        """Give shards to workers that have none, and start workers while there are shards for them."""
        while len(self._turns) < self._count * _SHARDS_A_WORKER:
            free = next((worker for worker in self._workers if worker.shard is None), None)
            if free is None and len(self._workers) >= self._count:
                return
            shard = next(shards, None)
            if shard is None:
                return
            if free is None:
                free = self._started()
            turn = self._turns[shard.number] = _Turn(shard)
            turn.worker = free
            free.give(shard)

    def _started(self) -> _Worker:
        worker = _Worker(self._order, self._events)
        self._workers.append(worker)
        return worker

    def _take(self, worker: _Worker, part: Part) -> None:
        if part.failure is not None:
            raise OptionError(part.failure)
        turn = self._turns[part.shard]
        turn.parts.append(part)
        turn.shard.runs_done += len(part.ids)
        turn.shard.parts_done += 1
        if part.is_last:
            turn.shard.content = None
            worker.shard = turn.worker = None
            worker.read_on()
        elif turn.waiting < _WAITING_BYTES:
            worker.read_on()

    def _replace(self, ended: _Worker) -> None:
        """Have the shard of a worker that has ended done by a new one, or give it up."""
        self._workers.remove(ended)
        ended.expect_end()
        code = ended.end()
        if ended.shard is None:
            return
        turn = self._turns[ended.shard.number]
        turn.worker = None
        if turn.attempts >= _ATTEMPTS:
            turn.parts.append(_lost(turn, code))
            return
        turn.attempts += 1
        turn.worker = self._started()
        turn.worker.give(turn.shard)

    def _ready(self) -> Iterator[tuple[Shard, Part]]:
        """The parts whose turn has come. A worker that waited for them to be taken may go on."""
        for turn in list(self._turns.values()):
            waited = turn.waiting >= _WAITING_BYTES
            is_done = False
            while turn.parts:
                part = turn.parts.popleft()
                is_done = part.is_last
                yield turn.shard, part
            if is_done:
                del self._turns[turn.shard.number]
            elif waited and turn.worker is not None:
                turn.worker.read_on()
            if self._keeps_order and not is_done:
                return


def _lost(turn: _Turn, code: int) -> Part:
    """The last part of a shard that could not be scored."""
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return Part(
        shard=turn.shard.number, number=turn.shard.parts_done, is_last=True, lost=how, lines=count_lines(turn.shard)
    )
