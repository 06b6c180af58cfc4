"""Which runs an address asks for."""

from __future__ import annotations

from referee.storage.recorded_runs import RunFilter
from referee.studio.query import Query
from referee.studio.screen import parameters_of

#: By the name of a field of `RunFilter`, its parameter where that has another name.
RENAMED = {"numbers": "number"}
RUN_PARAMETERS = parameters_of(RunFilter, RENAMED)
#: The filters that a person types.
FILTERS = [name for name in RunFilter.__struct_fields__ if name != "numbers"]


def runs_wanted(query: Query) -> RunFilter:
    """The runs that an address asks for."""
    return query.struct(RunFilter, renamed={parameter: field for field, parameter in RENAMED.items()}, lists=["number"])


def conditions_of(query: Query) -> list[tuple[str, str]]:
    """The parameters of an address that say which runs are meant."""
    return [(name, value) for name, value in query.given if name in FILTERS or name == "number"]
