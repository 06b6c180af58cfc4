"""Scores shards on a Ray cluster, with Ray Data. Needs the extra `ray`."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

from referee.bulk.cluster_limits import ClusterBudget, ClusterLimits, start_limiter
from referee.bulk.engine import BrokenOffError
from referee.bulk.job import Job
from referee.bulk.judging import JudgeSettings
from referee.bulk.ray_import import pyarrow as pa
from referee.bulk.ray_import import ray
from referee.bulk.scoring import Part, score_shard
from referee.bulk.shards import Shard
from referee.errors import OptionError
from referee.judge import Judge
from referee.live import wire
from referee.pipeline import Scorer
from referee.steps import PromptStep

#: More blocks than this only cost; a block holds several shards then.
_MOST_BLOCKS = 1000


class RayCluster:
    """Scores shards on a Ray cluster. Ray starts again what is lost with a worker or a machine.

    Every machine needs Referee in the same version, the modules of scorers of one's own, the files under the same
    paths, and the keys of judges in its environment.

    Args:
        job: The job.
        scorers: Its scorers, loaded.
        address: The cluster's address; `None` takes `RAY_ADDRESS`, else a cluster on this machine, else starts one.
        workers: How many shards are scored at once; `None` takes all processors of the cluster.
        keeps_order: Whether parts are given in the order of the input; else as they come.
        judging: The judge, and the limit of all machines together.

    Raises:
        OptionError: The cluster can't be reached, or a scorer brings a judge of its own.
    """

    sends_content = False

    def __init__(
        self,
        job: Job,
        scorers: Sequence[Scorer[Any, Any]],
        *,
        address: str | None,
        workers: int | None,
        keeps_order: bool,
        judging: JudgeSettings,
    ) -> None:
        own = next((scorer.id for scorer in scorers if _has_own_judge(scorer)), None)
        if own is not None:
            raise OptionError(
                f"{own} has a judge of its own, which no limit of the cluster holds: name it with --model"
            )
        self._job = job
        self._judging = judging if any(scorer.asks_judge for scorer in scorers) else None
        if self._judging is not None:
            self._judging.judge(None, self._judging.budget)  # says what is wrong before anything runs
        self._keeps_order = keeps_order
        self._started = not ray.is_initialized()
        if self._started:
            _connect(address, workers)
        self._workers = workers or None
        self.processes = workers or int(ray.cluster_resources().get("CPU", 1))

    def parts(self, shards: Iterator[Shard]) -> Iterator[tuple[Shard, Part]]:
        """Score the shards.

        Raises:
            OptionError: The shards can't be scored at all.
            BrokenOffError: The cluster gave up.
        """
        listed = {shard.number: shard for shard in shards}
        try:
            if listed:
                for part in self._scored(list(listed.values())):
                    if part.failure is not None:
                        raise OptionError(part.failure)
                    yield listed[part.shard], part
        finally:
            if self._started:
                ray.shutdown()

    def _scored(self, shards: Sequence[Shard]) -> Iterator[Part]:
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = self._keeps_order
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        limiter = None if self._judging is None else start_limiter(self._judging)
        score = partial(score_shards, job=wire.encode(self._job), judging=self._judging, limiter=limiter)
        rows = [{"shard": wire.encode(shard)} for shard in shards]
        scored = ray.data.from_items(rows, override_num_blocks=min(len(rows), _MOST_BLOCKS)).map_batches(
            score,
            batch_size=None,
            batch_format="pyarrow",
            zero_copy_batch=True,
            compute=ray.data.TaskPoolStrategy(size=self._workers),
        )
        try:
            for table in scored.iter_batches(batch_size=None, batch_format="pyarrow"):
                for content in table.column("part"):
                    yield wire.decode(content.as_py(), Part)
        except ray.exceptions.RayError as error:
            raise BrokenOffError(f"the cluster gave up: {_shortly(error)}") from None


def score_shards(table: Any, *, job: bytes, judging: JudgeSettings | None, limiter: Any) -> Iterator[Any]:
    """Score the shards of a batch, on a machine of the cluster."""
    loaded, scorers, judge = _loaded(job, judging, limiter)
    for content in table.column("shard"):
        for part in score_shard(wire.decode(content.as_py(), Shard), loaded, scorers, judge):
            yield pa.table({"part": pa.array([wire.encode(part)], pa.large_binary())})


@lru_cache(maxsize=1)
def _loaded(
    job: bytes, judging: JudgeSettings | None, limiter: Any
) -> tuple[Job, list[Scorer[Any, Any]], Judge | None]:
    """The scorers of a job and their judge, once for each process."""
    decoded = wire.decode(job, Job)
    judge = None
    if judging is not None:
        budget = None if judging.budget is None else ClusterBudget(limiter, judging)
        judge = judging.judge(ClusterLimits(limiter), budget)
    return decoded, decoded.load(), judge


def _has_own_judge(scorer: Scorer[Any, Any]) -> bool:
    steps = scorer.steps.values()
    return scorer.judge is not None or any(isinstance(step, PromptStep) and step.judge is not None for step in steps)


def _connect(address: str | None, workers: int | None) -> None:
    here = address is None and "RAY_ADDRESS" not in os.environ
    logging.getLogger("ray").setLevel(logging.ERROR)
    options: dict[str, Any] = {"num_cpus": workers} if here and workers else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, include_dashboard=False, **options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise OptionError(f"the Ray cluster {address or ''} can't be reached: {_shortly(error)}") from None


def _shortly(error: Exception) -> str:
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
