"""Scorers as rows: each id in each version is registered with its first score, or before, with what it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from referee.bounds import Bounds
from referee.scores import Score
from referee.storage import codec
from referee.storage.bulk import insert_for
from referee.storage.database import Database
from referee.storage.schema import scorers

if TYPE_CHECKING:
    from referee.pipeline import Scorer

#: A check is an assertion: it passes at 1, whether a bound was given or not.
_CHECK_BOUNDS = Bounds(min=1.0)


class Registered(NamedTuple):
    """A scorer's row: its number, and the bounds that it has when none are given."""

    number: int
    bounds: Bounds | None


class Registry:
    """Rows of scorers by id and version, remembered: they are never removed."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[tuple[str, str], Registered] = {}
        self._described: set[tuple[str, str]] = set()

    def of(self, score: Score) -> Registered:
        """The row of a score's scorer, which `register_scores` has seen."""
        return self._known[score.scorer_id, score.scorer_version]

    def register(self, given: Iterable[Scorer[Any, Any]]) -> None:
        """Register scorers with their kind, description and specification."""
        wanted = {(scorer.id, scorer.version): scorer for scorer in given}
        new = {key: _row_of_scorer(scorer) for key, scorer in wanted.items() if key not in self._described}
        self._register(new)
        self._described.update(new)

    def register_scores(self, given: Iterable[Score]) -> None:
        """Register the scorers of scores, as far as the scores tell."""
        unknown = {}
        for score in given:
            key = (score.scorer_id, score.scorer_version)
            if key not in self._known and key not in unknown:
                unknown[key] = _row_of_score(score)
        self._register(unknown)

    def _register(self, wanted: dict[tuple[str, str], dict[str, Any]]) -> None:
        if not wanted:
            return
        rows = [row for _, row in sorted(wanted.items())]
        with self._database.write() as connection:
            insert = insert_for(connection, scorers)
            described = {name: insert.excluded[name] for name in ("kind", "description", "spec")}
            keys = ["scorer_id", "version"]
            connection.execute(
                insert.on_conflict_do_update(
                    index_elements=keys,
                    set_=described,
                    where=scorers.c.kind.is_(None) & insert.excluded.kind.isnot(None),
                ),
                rows,
            )
            names = {row["scorer_id"] for row in rows}
            query = select(scorers.c.scorer_id, scorers.c.version, scorers.c.id, scorers.c.kind)
            found = {
                (name, version): Registered(number, _CHECK_BOUNDS if (kind or "").startswith("checks.") else None)
                for name, version, number, kind in connection.execute(query.where(scorers.c.scorer_id.in_(names)))
            }
        for key, row in wanted.items():
            self._known[key] = found[row["scorer_id"], row["version"]]


def _row_of_score(score: Score) -> dict[str, Any]:
    return {
        "scorer_id": codec.name(score.scorer_id),
        "version": codec.name(score.scorer_version),
        "kind": None,
        "description": None,
        "spec": None,
        "low": score.range[0],
        "high": score.range[1],
        "lower_is_better": int(score.lower_is_better),
        "created_at": codec.now_ms(),
    }


def _row_of_scorer(scorer: Scorer[Any, Any]) -> dict[str, Any]:
    nothing = Score(
        "", scorer.id, scorer_version=scorer.version, range=scorer.range, lower_is_better=scorer.lower_is_better
    )
    spec = scorer.spec
    return {
        **_row_of_score(nothing),
        "kind": scorer.kind,
        "description": codec.clean(scorer.description),
        "spec": None if spec is None else codec.encode(spec),
    }
