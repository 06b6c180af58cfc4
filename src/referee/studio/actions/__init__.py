"""Everything that can be changed from a page. An action's module is loaded when it is first used."""

from __future__ import annotations

from referee.studio.screen import Action, load

#: Of every action's path, its module and name there.
_PLACES = {
    "/labels/add": "labels:ADD",
    "/labels/remove": "labels:REMOVE",
    "/datasets/create": "datasets:CREATE",
    "/datasets/put": "datasets:PUT",
    "/datasets/remove": "datasets:REMOVE",
    "/datasets/add-run": "datasets:ADD_RUN",
    "/datasets/baseline": "datasets:BASELINE",
    "/datasets/pin": "datasets:PIN",
    "/jobs/add": "jobs:ADD",
    "/jobs/cancel": "jobs:CANCEL",
    "/jobs/resume": "jobs:RESUME",
}
#: The paths of all actions.
PATHS = tuple(_PLACES)


def action(path: str) -> Action:
    """The action of a path."""
    found: Action = load(__name__, _PLACES[path])
    return found
