"""A worker process: scores the shards that it is given until its pipe is closed."""

from __future__ import annotations

from referee.bulk.job import Job
from referee.bulk.scoring import Part, score_shard
from referee.bulk.shards import Shard
from referee.errors import RefereeError
from referee.live import wire


def main() -> None:
    """Serve the parent over standard input and output."""
    requests, replies = wire.take_pipes()
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
