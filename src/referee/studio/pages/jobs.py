"""Jobs: all of them, and one with its progress."""

from __future__ import annotations

from typing import Any

import msgspec

from referee.storage.jobs import Job
from referee.storage.store import Store
from referee.studio.page import Page, Rows
from referee.studio.query import Query, address
from referee.studio.run_parameters import RENAMED
from referee.studio.screen import WHOLE, Parameter, Screen

_COLUMNS = (
    "number",
    "status",
    "done",
    "total",
    "scored",
    "not_scorable",
    "errors",
    "problem",
    "created_at",
    "finished_at",
)


def jobs_page(store: Store, query: Query) -> Page:
    """The jobs, the newest first."""
    found = store.jobs.latest(limit=query.limit + 1, before=query.whole("before"))
    listed = found[: query.limit]
    return Page(
        "jobs.html",
        "Jobs",
        {"jobs": listed},
        Rows(_COLUMNS, [_cells(job) for job in listed]),
        {"is_running": any(job.is_running for job in listed)},
        next=query.set(before=listed[-1].number) if len(found) > query.limit else None,
    )


def job_page(store: Store, query: Query) -> Page:
    """One job."""
    job = store.jobs.get(query.needed_whole("number"))
    return Page(
        "job.html",
        f"Job {job.number}",
        {"job": job},
        Rows(_COLUMNS, [_cells(job)]),
        {
            "is_running": job.is_running,
            "runs_address": address("/runs", _given(job)),
            "specs": _specs(job),
            "given": _given(job),
        },
    )


def _cells(job: Job) -> list[Any]:
    progress = msgspec.structs.asdict(job.progress)
    return [progress[name] if name in progress else getattr(job, name) for name in _COLUMNS]


def _given(job: Job) -> list[tuple[str, str]]:
    """The runs of a job as parameters."""
    found = []
    for name, value in msgspec.to_builtins(job.plan.where).items():
        values = value if isinstance(value, list) else [value]
        found += [(RENAMED.get(name, name), str(one).lower() if isinstance(one, bool) else str(one)) for one in values]
    return found


def _specs(job: Job) -> list[str]:
    return [msgspec.json.encode(spec).decode() for spec in job.plan.scorers]


SCREEN = Screen(
    "/jobs",
    "Scorings of stored runs, the newest first.",
    jobs_page,
    (Parameter("before", "The number of the job before which the list begins.", WHOLE),),
    {"jobs": list[Job]},
)
ONE_SCREEN = Screen(
    "/job",
    "One job and how far it is.",
    job_page,
    (Parameter("number", "The job's number.", WHOLE, is_needed=True),),
    {"job": Job},
)
