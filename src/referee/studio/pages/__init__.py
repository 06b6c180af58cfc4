"""The Studio's pages, one module for each screen or two that belong together."""

from __future__ import annotations

from referee.studio.pages import (
    api,
    compare,
    dataset_changes,
    datasets,
    experiment,
    items,
    jobs,
    labels,
    live,
    new_job,
    overview,
    runs,
    score,
    scorer,
    scorers,
    scores,
)
from referee.studio.pages import run as run_page
from referee.studio.screen import Screen

#: Every screen.
SCREENS: tuple[Screen, ...] = (
    overview.SCREEN,
    experiment.SCREEN,
    scores.SCREEN,
    score.SCREEN,
    compare.SCREEN,
    compare.ITEM_SCREEN,
    runs.SCREEN,
    run_page.SCREEN,
    scorers.SCREEN,
    scorer.SCREEN,
    datasets.SCREEN,
    datasets.ONE_SCREEN,
    items.SCREEN,
    dataset_changes.SCREEN,
    labels.SCREEN,
    live.SCREEN,
    jobs.SCREEN,
    jobs.ONE_SCREEN,
    new_job.SCREEN,
    api.SCREEN,
)
