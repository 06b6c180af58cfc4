"""One text or value of a score or its run, whole."""

from __future__ import annotations

from referee.errors import OptionError
from referee.storage.store import Store
from referee.studio.fields import as_text, value_at
from referee.studio.query import Query


def raw_text(store: Store, query: Query) -> str:
    """The text at a path of a score or its run."""
    query.allow("score", "path")
    number, path = query.whole("score"), query.text("path")
    if number is None or path is None:
        raise OptionError("give score= and path=, as the links of a score's page do")
    return as_text(value_at(store.scores.get(number), path))
