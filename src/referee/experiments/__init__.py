"""Experiments: a data set's version, a target and scorers, run and kept in a store.

`run_experiment` runs it all. Where something else calls the agent, `create_experiment` takes one answer at a time.
"""

from __future__ import annotations

from referee.experiments.driven import Experiment, create_experiment
from referee.experiments.reports import import_journal, report_of
from referee.experiments.running import run_experiment, run_experiment_sync
from referee.experiments.trust import AgreementWarning

__all__ = [
    "AgreementWarning",
    "Experiment",
    "create_experiment",
    "import_journal",
    "report_of",
    "run_experiment",
    "run_experiment_sync",
]
