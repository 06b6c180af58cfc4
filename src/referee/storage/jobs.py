"""Jobs: scorings of stored runs that a person asked for. What a job has done is kept with every batch.

A worker says every few seconds that it is alive. A job whose worker went silent is interrupted, and may be resumed: it
goes on after the last run that is done.
"""

from __future__ import annotations

import secrets
from datetime import datetime
from typing import Any, Literal, TypeAlias

import msgspec
from sqlalchemy import insert, select, update

from referee.errors import OptionError, StoreError
from referee.storage import codec
from referee.storage.database import Database
from referee.storage.recorded_runs import RunFilter
from referee.storage.schema import jobs

#: `running` until it is finished; `cancelling` until the worker has seen it; `failed` when it can't go on.
JobStatus: TypeAlias = Literal["running", "cancelling", "cancelled", "interrupted", "finished", "failed"]

#: A worker says that it is alive every `BEAT_SECONDS`; after `SILENCE_SECONDS` it is taken for dead.
BEAT_SECONDS, SILENCE_SECONDS = 2.0, 15.0
#: From these a job may go on.
RESUMABLE: tuple[JobStatus, ...] = ("interrupted", "cancelled", "failed")


class JobPlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a job is to do.

    Attributes:
        where: The runs that are scored.
        scorers: The scorers, as `load_scorer` takes them.
        model: The judge's model.
        max_cost: What the judge may cost, in US dollars.
    """

    where: RunFilter
    scorers: list[Any]
    model: str | None = None
    max_cost: float | None = None


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """What a job has done: the last run's number, how many runs, and what became of the scores."""

    last_run: int = 0
    done: int = 0
    scored: int = 0
    not_scorable: int = 0
    errors: int = 0


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job.

    Attributes:
        number: Its number in this store.
        status: What it is doing.
        plan: What it is to do.
        total: How many runs fitted when it began.
        progress: What it has done.
        problem: Why it failed.
        created_at, finished_at: Its time.
    """

    number: int
    status: JobStatus
    plan: JobPlan
    total: int
    progress: Progress
    problem: str | None
    created_at: datetime
    finished_at: datetime | None

    @property
    def is_running(self) -> bool:
        """Whether a worker is at it."""
        return self.status in ("running", "cancelling")

    @property
    def is_resumable(self) -> bool:
        """Whether it may go on where it stopped."""
        return self.status in RESUMABLE


class Jobs:
    """The jobs of a store. Made by `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, plan: JobPlan, *, total: int) -> int:
        """Write a job down, as interrupted before its first run. Gives its number."""
        row = {
            "status": "interrupted",
            "plan": codec.encode(plan),
            "beat": 0,
            "total": total,
            **msgspec.to_builtins(Progress()),
            "created_at": codec.now_ms(),
        }
        with self._database.write() as connection:
            return int(connection.execute(insert(jobs).values(row).returning(jobs.c.id)).scalar_one())

    def latest(self, *, limit: int = 50, before: int | None = None) -> list[Job]:
        """Jobs, the newest first; `before` is the number of the last one that was seen."""
        query = select(jobs).order_by(jobs.c.id.desc()).limit(limit)
        with self._database.read() as connection:
            found = connection.execute(query if before is None else query.where(jobs.c.id < before))
            return [_job(row) for row in found]

    def get(self, number: int) -> Job:
        """One job.

        Raises:
            StoreError: There is none of this number.
        """
        with self._database.read() as connection:
            row = connection.execute(select(jobs).where(jobs.c.id == number)).one_or_none()
        if row is None:
            raise StoreError(f"there is no job {number}")
        return _job(row)

    def take(self, number: int) -> str:
        """Take a job, so that nobody else works at it. Gives the word that its worker shows with every change.

        Raises:
            OptionError: Somebody works at it, or it is finished.
            StoreError: There is none of this number.
        """
        worker = secrets.token_hex(8)
        with self._database.write() as connection:
            row = connection.execute(select(jobs).where(jobs.c.id == number).with_for_update()).one_or_none()
            if row is None:
                raise StoreError(f"there is no job {number}")
            status = _job(row).status
            if status not in RESUMABLE:
                raise OptionError(f"job {number} is {status}, so it can't be resumed")
            taken = {
                "status": "running",
                "worker": worker,
                "beat": codec.now_ms(),
                "problem": None,
                "finished_at": None,
            }
            connection.execute(update(jobs).where(jobs.c.id == number).values(taken))
        return worker

    def cancel(self, number: int) -> None:
        """Ask the worker of a job to stop after the runs that it is at.

        Raises:
            OptionError: Nobody works at it.
            StoreError: There is none of this number.
        """
        job = self.get(number)
        if not job.is_running:
            raise OptionError(f"job {number} is {job.status}, so there is nothing to cancel")
        with self._database.write() as connection:
            running = (jobs.c.id == number, jobs.c.status == "running")
            connection.execute(update(jobs).where(*running).values(status="cancelling"))

    def beat(self, number: int, worker: str, progress: Progress | None = None) -> bool:
        """Say that the worker is alive, and how far it is; whether it is to go on.

        Args:
            number: The job.
            worker: What `take` gave.
            progress: How far it is; unchanged when `None`.
        """
        changes: dict[str, Any] = {"beat": codec.now_ms()}
        if progress is not None:
            changes |= msgspec.to_builtins(progress)
        mine = (jobs.c.id == number, jobs.c.worker == worker)
        with self._database.write() as connection:
            connection.execute(update(jobs).where(*mine).values(changes))
            status = connection.execute(select(jobs.c.status).where(*mine)).scalar()
        return status == "running"

    def end(self, number: int, worker: str, status: JobStatus, problem: str | None = None) -> None:
        """Say how a worker's part of a job ended."""
        changes = {
            "status": status,
            "worker": None,
            "problem": problem and codec.clean(problem),
            "finished_at": codec.now_ms(),
        }
        with self._database.write() as connection:
            connection.execute(update(jobs).where(jobs.c.id == number, jobs.c.worker == worker).values(changes))


def _job(row: Any) -> Job:
    is_silent = codec.now_ms() - row.beat > SILENCE_SECONDS * 1000
    return Job(
        number=row.id,
        status="interrupted" if row.status in ("running", "cancelling") and is_silent else row.status,
        plan=codec.decode(row.plan, JobPlan),
        total=row.total,
        progress=Progress(**{name: getattr(row, name) for name in Progress.__struct_fields__}),
        problem=row.problem,
        created_at=codec.from_ms(row.created_at),
        finished_at=None if row.finished_at is None else codec.from_ms(row.finished_at),
    )
