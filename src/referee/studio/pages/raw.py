"""One text or value of a score or a run, whole."""

from __future__ import annotations

from referee.errors import OptionError
from referee.storage.store import Store
from referee.studio.fields import as_text, value_at
from referee.studio.query import Query


def raw_text(store: Store, query: Query) -> str:
    """The text at a path of a score with its run, or of a run."""
    query.allow("score", "run", "path")
    score, run, path = query.whole("score"), query.whole("run"), query.text("path")
    if (score is None) == (run is None) or path is None:
        raise OptionError("give path= and score= or run=, as the links of a page do")
    if score is not None:
        return as_text(value_at(store.scores.get(score), path))
    assert run is not None
    return as_text(value_at(store.runs.get(run), path))
