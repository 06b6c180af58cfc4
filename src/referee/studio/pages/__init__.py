"""The Studio's pages. A page's module is loaded when it is first asked for, so that the first page comes soon."""

from __future__ import annotations

from referee.studio.screen import Screen, load

#: Of every screen's path, its module and name there.
_PLACES = {
    "/": "overview:SCREEN",
    "/experiment": "experiment:SCREEN",
    "/scores": "scores:SCREEN",
    "/score": "score:SCREEN",
    "/compare": "compare:SCREEN",
    "/compared-item": "compare:ITEM_SCREEN",
    "/runs": "runs:SCREEN",
    "/run": "run:SCREEN",
    "/scorers": "scorers:SCREEN",
    "/scorer": "scorer:SCREEN",
    "/datasets": "datasets:SCREEN",
    "/dataset": "datasets:ONE_SCREEN",
    "/item": "items:SCREEN",
    "/dataset-changes": "dataset_changes:SCREEN",
    "/labels": "labels:SCREEN",
    "/live": "live:SCREEN",
    "/jobs": "jobs:SCREEN",
    "/job": "jobs:ONE_SCREEN",
    "/new-job": "new_job:SCREEN",
    "/api": "api:SCREEN",
}
#: The paths of all screens.
PATHS = tuple(_PLACES)


def screen(path: str) -> Screen:
    """The screen of a path."""
    found: Screen = load(__name__, _PLACES[path])
    return found
