"""Draws pages: HTML through the templates, and the same data as JSON and CSV.

Content of runs is hostile. Whatever a template puts out is first written with its control characters and direction
marks as escapes, then escaped for HTML; no template can forget it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec
from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from referee.errors import OptionError
from referee.storage.codec import clean
from referee.studio import figures
from referee.studio.page import Page
from referee.studio.query import Query, address
from referee.terminal import visible

FORMATS = ("html", "json", "csv")

#: A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates, read once. No name from outside ever leads to a file."""
    sources = {
        entry.name: entry.read_text(encoding="utf-8")
        for entry in files("referee.studio").joinpath("templates").iterdir()
        if entry.name.endswith(".html")
    }
    made = Environment(
        loader=DictLoader(sources),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(figures.FILTERS)
    made.globals["address"] = address
    made.globals["dict"] = dict
    return made


def _shown(value: Any) -> Any:
    if value is None:
        return ""
    return value if isinstance(value, Markup) else visible(str(value))


def as_html(page: Page, query: Query, **everywhere: Any) -> bytes:
    """The page as HTML."""
    outside = {"seal": "", "is_writable": False, "is_exported": False}
    context: Mapping[str, Any] = {**outside, **everywhere, **page.data, **page.view, "page": page, "here": query}
    return environment().get_template(page.template).render(context).encode("utf-8", "replace")


def as_json(page: Page) -> bytes:
    """The page's data as JSON."""
    data = {"title": page.title, **page.data, "next_page": page.next}
    try:
        return msgspec.json.encode(data)
    except UnicodeEncodeError:
        return msgspec.json.encode(_encodable(msgspec.to_builtins(data, str_keys=True)))


def as_csv(page: Page) -> bytes:
    """The page's main list as CSV. Texts that a spreadsheet would take for a formula get an apostrophe in front."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(page.rows.columns)
    for row in page.rows.rows:
        writer.writerow([_cell(value) for value in row])
    return text.getvalue().encode("utf-8", "replace")


def format_of(query: Query) -> str:
    """The format that is asked for.

    Raises:
        OptionError: There is no such format.
    """
    wanted = query.text("format") or "html"
    if wanted not in FORMATS:
        raise OptionError(f"there is no format {wanted!r}; there are: {', '.join(FORMATS)}")
    return wanted


def _cell(value: Any) -> Any:
    if isinstance(value, (int, float)) or value is None:
        return value
    text = clean(str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(key): _encodable(item) for key, item in value.items()}
    return [_encodable(item) for item in value] if isinstance(value, (list, tuple)) else value
