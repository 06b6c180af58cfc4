"""A worker process: scores the shards that it is given until its pipe is closed."""

from __future__ import annotations

import os

from referee.bulk.job import Job
from referee.bulk.scoring import Part, score_shard
from referee.bulk.shards import Shard
from referee.errors import RefereeError
from referee.live import wire


def main() -> None:
    """Serve the parent over standard input and output."""
    requests, replies = _take_pipes()
    order = wire.receive(requests)
    if order is None:
        return
    job = wire.decode(order, Job)
    try:
        scorers = job.load()
    except RefereeError as error:
        wire.send(replies, wire.encode(Part(shard=-1, number=0, is_last=True, failure=str(error))))
        return
    while (frame := wire.receive(requests)) is not None:
        for part in score_shard(wire.decode(frame, Shard), job, scorers):
            try:
                wire.send(replies, wire.encode(part))
            except BrokenPipeError:  # the parent is gone
                return


def _take_pipes() -> tuple[int, int]:
    """The pipes to the parent, out of reach of scorers that print or read: those get standard error and nothing."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return requests, replies
