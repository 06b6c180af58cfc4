"""What the commands do with reports: write them, and say where they are."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from referee.report import write_report


def write_reports(report: Any, files: Iterable[Path]) -> None:
    """Write a report or a comparison to each file, and say so on standard error."""
    for file in files:
        write_report(report, file)
        click.echo(f"wrote {file}", err=True)
