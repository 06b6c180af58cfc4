"""Suites: an evaluation in one YAML or TOML file."""

from __future__ import annotations

from referee.suites.schema import suite_schema
from referee.suites.suite import Suite, importing_from, load_suite

__all__ = ["Suite", "importing_from", "load_suite", "suite_schema"]
