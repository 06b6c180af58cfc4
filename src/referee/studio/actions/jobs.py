"""Jobs: begun, cancelled and resumed."""

from __future__ import annotations

import msgspec

from referee.errors import OptionError
from referee.storage.jobs import Job, JobPlan
from referee.studio.job_plans import scorer_specs
from referee.studio.query import Query, address
from referee.studio.run_parameters import RUN_PARAMETERS, runs_wanted
from referee.studio.screen import LONG_TEXT, WHOLE, Action, Desk, Done, Parameter

_JOB = Parameter("number", "The job's number.", WHOLE, is_needed=True)


def add_job(desk: Desk, query: Query) -> Done:
    """Score runs of the store in the background."""
    desk.workers.check_room()
    max_cost = query.number("max_cost")
    if max_cost is not None and max_cost < 0:
        raise OptionError(f"max_cost: expected US dollars from 0, not {max_cost:g}")
    plan = JobPlan(
        where=msgspec.structs.replace(runs_wanted(query), failed=False),
        scorers=scorer_specs(query.needed("scorers")),
        model=query.text("model"),
        max_cost=max_cost,
    )
    total = desk.store.runs.count(plan.where)
    if not total:
        raise OptionError("no run fits, so there is nothing to score: choose other runs")
    number = desk.store.jobs.add(plan, total=total)
    return _started(desk, number)


def cancel_job(desk: Desk, query: Query) -> Done:
    """Stop a job after the runs that it is at."""
    number = query.needed_whole("number")
    desk.store.jobs.cancel(number)
    return _job(desk, number)


def resume_job(desk: Desk, query: Query) -> Done:
    """Go on with a job after the last run that is done."""
    desk.workers.check_room()
    return _started(desk, query.needed_whole("number"))


def _started(desk: Desk, number: int) -> Done:
    desk.workers.start(number, desk.store.jobs.take(number))
    return _job(desk, number)


def _job(desk: Desk, number: int) -> Done:
    return Done(address("/job", {"number": number}), {"job": desk.store.jobs.get(number)})


ADD = Action(
    "/jobs/add",
    "Score runs of the store in the background. All conditions on the runs hold together.",
    add_job,
    (
        Parameter(
            "scorers",
            "Ready-made scorers, one a line: NAME, NAME=VALUE or NAME={options}.",
            LONG_TEXT,
            is_needed=True,
        ),
        Parameter("model", "The judge's model, as provider/model."),
        Parameter("max_cost", "What the judge may cost, in US dollars.", {"type": "number", "minimum": 0}),
        *RUN_PARAMETERS,
    ),
    {"job": Job},
)
CANCEL = Action("/jobs/cancel", "Stop a job after the runs that it is at.", cancel_job, (_JOB,), {"job": Job})
RESUME = Action("/jobs/resume", "Go on with a job after the last run that is done.", resume_job, (_JOB,), {"job": Job})
