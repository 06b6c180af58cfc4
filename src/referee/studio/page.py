"""A page: what it says, before it becomes HTML, JSON or CSV."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Rows:
    """The main list of a page, as a table."""

    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says.

    Attributes:
        template: The file that draws it.
        title: Of the page.
        data: Its data: the twin in JSON, and what the template shows.
        rows: The twin in CSV.
        view: What only the template needs.
        next: The address of the list's next page.
    """

    template: str
    title: str
    data: Mapping[str, Any]
    rows: Rows
    view: Mapping[str, Any] = field(default_factory=dict)
    next: str | None = None
