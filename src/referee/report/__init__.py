"""Reports drawn: on a terminal, as Markdown, HTML, JUnit XML and JSON Lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from referee.errors import OptionError

#: What writes a file, by the file's suffix.
_WRITERS = {
    ".html": "html:as_page",
    ".jsonl": "jsonlines:as_json_lines",
    ".md": "markdown:as_markdown",
    ".txt": "terminal:as_text",
    ".xml": "junit:as_junit",
}

__all__ = ["check_report_path", "write_report"]


def check_report_path(path: str | os.PathLike[str], suffixes: Iterable[str] = tuple(_WRITERS)) -> Path:
    """The path, if its suffix says a kind of report that is known, or one of those given.

    Raises:
        OptionError: It does not.
    """
    checked = Path(path)
    if checked.suffix.lower() not in suffixes:
        raise OptionError(f"{checked}: a report's file ends in {', '.join(suffixes)}")
    return checked


def write_report(report: Any, path: str | os.PathLike[str]) -> None:
    """Write a report to a file; its suffix says how.

    Args:
        report: A `Report` or `SideBySide`; a `Comparison` for `.md`, `.html` and `.txt`.
        path: A file that ends in `.md`, `.html`, `.xml` (JUnit), `.jsonl` or `.txt`.

    Raises:
        OptionError: The suffix is another one, or the file can't be written.
    """
    checked = check_report_path(path)
    module, _, function = _WRITERS[checked.suffix.lower()].partition(":")
    draw: Callable[[Any], str | bytes] = getattr(import_module(f"referee.report.{module}"), function)
    drawn = draw(report)
    try:
        checked.parent.mkdir(parents=True, exist_ok=True)
        checked.write_bytes(drawn if isinstance(drawn, bytes) else drawn.encode("utf-8"))
    except OSError as error:
        raise OptionError(f"{checked} can't be written: {error.strerror}") from None
