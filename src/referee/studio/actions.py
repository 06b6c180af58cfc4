"""Everything that can be changed from a page: labels, data sets, baselines and jobs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from referee.datasets import item_from_run
from referee.errors import OptionError
from referee.items import Item, read_item
from referee.jsonvalue import decode
from referee.storage.jobs import Job, JobPlan
from referee.storage.label_rows import Label
from referee.storage.recorded_runs import RunFilter
from referee.studio.job_plans import scorer_specs
from referee.studio.query import Query, address
from referee.studio.screen import NUMBER, TEXT, WHOLE, Action, Desk, Done, Parameter, parameters_of

#: By the name of a field of `RunFilter`, its parameter.
RUN_FILTER = {"numbers": "number"}
_LONG_TEXT = {"type": "string", "minLength": 1, "maxLength": 500_000}
_NOTE = Parameter("note", "Why, for people.")
_DATASET = Parameter("name", "The data set's name.", is_needed=True)
_JOB = Parameter("number", "The job's number.", WHOLE, is_needed=True)


def add_label(desk: Desk, query: Query) -> Done:
    """Label a score, or a run."""
    value = query.number("value")
    if value is None:
        raise OptionError("give value=, the label: a number on the scorer's scale")
    label = desk.store.labels.add(
        value,
        author=query.needed("author"),
        score=query.whole("score"),
        run=query.whole("run"),
        name=query.text("name"),
        turn=query.whole("turn", most=2**31 - 1),
        comment=query.text("comment"),
    )
    return Done(address("/run", {"number": label.run}), {"label": label})


def remove_label(desk: Desk, query: Query) -> Done:
    """Remove a label."""
    number = query.needed_whole("number")
    desk.store.labels.remove(number)
    return Done("/labels", {"removed": number})


def create_dataset(desk: Desk, query: Query) -> Done:
    """Make an empty data set."""
    row = desk.store.datasets.create(query.needed("name"), query.text("description") or "")
    return _dataset(row.name, row.version)


def put_item(desk: Desk, query: Query) -> Done:
    """Add an item to a data set, or change the one of its id."""
    name = query.needed("name")
    version = desk.store.datasets.put(name, [_item(query.needed("item"))], note=query.text("note") or "")
    return _dataset(name, version)


def remove_item(desk: Desk, query: Query) -> Done:
    """Remove an item from the latest version of a data set."""
    name = query.needed("name")
    version = desk.store.datasets.remove(name, [query.needed("id")], note=query.text("note") or "")
    return _dataset(name, version)


def add_run(desk: Desk, query: Query) -> Done:
    """Make an item of a run: what was asked, and what is expected of the answer."""
    name, number = query.needed("name"), query.needed_whole("run")
    stored = desk.store.runs.get(number)
    if not stored.run.input:
        raise OptionError("nothing is kept of what this run was asked, so it can't be an item")
    item = item_from_run(stored.run, keep_answer=query.text("keep_answer") is not None)
    item = msgspec.structs.replace(item, tags=stored.tags)
    note = query.text("note") or f"from the run {stored.row.run_id}"
    return _dataset(name, desk.store.datasets.put(name, [item], note=note))


def set_baseline(desk: Desk, query: Query) -> Done:
    """Say which experiment the others of a data set are measured against; without one: the one before each."""
    name, experiment = query.needed("name"), query.text("experiment")
    desk.store.datasets.set_baseline(name, experiment)
    return Done(address("/dataset", {"name": name}), {"baseline": experiment})


def pin_version(desk: Desk, query: Query) -> Done:
    """Give a version of a data set a name of its own."""
    name, pin = query.needed("name"), query.needed("pin")
    desk.store.datasets.pin(name, pin)
    return Done(address("/dataset", {"name": f"{name.partition('@')[0]}@{pin}"}), {"pin": pin})


def add_job(desk: Desk, query: Query) -> Done:
    """Score runs of the store in the background."""
    desk.workers.check_room()
    max_cost = query.number("max_cost")
    if max_cost is not None and max_cost < 0:
        raise OptionError(f"max_cost: expected US dollars from 0, not {max_cost:g}")
    where = query.struct(RunFilter, renamed=PARAMETERS_OF_RUNS, lists=["number"])
    plan = JobPlan(
        where=msgspec.structs.replace(where, failed=False),
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


def _item(text: str) -> Item:
    try:
        data = decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise OptionError(f"item: this is no JSON: {error}") from None
    if not isinstance(data, Mapping):
        raise OptionError("item: expected a JSON object with the fields of an item, such as id and input")
    return read_item(data)


def _dataset(name: str, version: int) -> Done:
    return Done(address("/dataset", {"name": name}), {"dataset": name, "version": version})


def _started(desk: Desk, number: int) -> Done:
    desk.workers.start(number, desk.store.jobs.take(number))
    return _job(desk, number)


def _job(desk: Desk, number: int) -> Done:
    return Done(address("/job", {"number": number}), {"job": desk.store.jobs.get(number)})


#: By the name of a parameter, the field of `RunFilter`.
PARAMETERS_OF_RUNS = {parameter: field for field, parameter in RUN_FILTER.items()}

ACTIONS: tuple[Action, ...] = (
    Action(
        "/labels/add",
        "Label a score, or a run. An earlier label of the same author on the same thing is replaced.",
        add_label,
        (
            Parameter("value", "The label, on the scorer's scale.", NUMBER, is_needed=True),
            Parameter("author", "Who says it.", is_needed=True),
            Parameter("score", "The score's number.", WHOLE),
            Parameter("run", "The run's number, for a label on the run itself.", WHOLE),
            Parameter("name", "What was judged of the run."),
            Parameter("turn", "The turn of the run, from 0.", {**WHOLE, "maximum": 2**31 - 1}),
            Parameter("comment", "Why.", {**TEXT, "maxLength": 20_000}),
        ),
        {"label": Label},
    ),
    Action(
        "/labels/remove",
        "Remove a label.",
        remove_label,
        (Parameter("number", "The label's number.", WHOLE, is_needed=True),),
        {"removed": int},
    ),
    Action(
        "/datasets/create",
        "Make an empty data set. One that is there stays as it is.",
        create_dataset,
        (_DATASET, Parameter("description", "What it is for.")),
        {"dataset": str, "version": int},
    ),
    Action(
        "/datasets/put",
        "Add an item, or change the one of its id. That makes a new version, if anything changes.",
        put_item,
        (_DATASET, Parameter("item", "The item as a JSON text.", _LONG_TEXT, is_needed=True), _NOTE),
        {"dataset": str, "version": int},
    ),
    Action(
        "/datasets/remove",
        "Remove an item. Earlier versions keep it.",
        remove_item,
        (_DATASET, Parameter("id", "The item's id.", is_needed=True), _NOTE),
        {"dataset": str, "version": int},
    ),
    Action(
        "/datasets/add-run",
        "Make an item of a run.",
        add_run,
        (
            _DATASET,
            Parameter("run", "The run's number.", WHOLE, is_needed=True),
            Parameter("keep_answer", "1: the run's answer is the right one."),
            _NOTE,
        ),
        {"dataset": str, "version": int},
    ),
    Action(
        "/datasets/baseline",
        "Say which experiment others of a data set are measured against.",
        set_baseline,
        (_DATASET, Parameter("experiment", "The experiment's key; none for the one before each.")),
        {"baseline": str | None},
    ),
    Action(
        "/datasets/pin",
        "Give a version of a data set a name of its own.",
        pin_version,
        (
            Parameter("name", "The data set and the version: `weather@3`.", is_needed=True),
            Parameter("pin", "The name.", is_needed=True),
        ),
        {"pin": str},
    ),
    Action(
        "/jobs/add",
        "Score runs of the store in the background. All conditions on the runs hold together.",
        add_job,
        (
            Parameter(
                "scorers",
                "Ready-made scorers, one a line: NAME, NAME=VALUE or NAME={options}.",
                _LONG_TEXT,
                is_needed=True,
            ),
            Parameter("model", "The judge's model, as provider/model."),
            Parameter("max_cost", "What the judge may cost, in US dollars.", {"type": "number", "minimum": 0}),
            *parameters_of(RunFilter, RUN_FILTER),
        ),
        {"job": Job},
    ),
    Action("/jobs/cancel", "Stop a job after the runs that it is at.", cancel_job, (_JOB,), {"job": Job}),
    Action("/jobs/resume", "Go on with a job after the last run that is done.", resume_job, (_JOB,), {"job": Job}),
)
