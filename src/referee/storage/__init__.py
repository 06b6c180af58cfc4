"""The store: SQLite or PostgreSQL, through SQLAlchemy. Knows no runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from referee.errors import MissingExtraError

if TYPE_CHECKING:
    from referee.storage.scored_runs import ScoredRun
    from referee.storage.store import Store

__all__ = ["ScoredRun", "Store"]


def __getattr__(name: str) -> Any:
    if name == "ScoredRun":
        from referee.storage.scored_runs import ScoredRun

        return ScoredRun
    if name == "Store":
        return _store()
    raise AttributeError(f"module 'referee.storage' has no attribute {name!r}")


def _store() -> type[Store]:
    try:
        from referee.storage.store import Store
    except ModuleNotFoundError as error:
        if error.name not in ("sqlalchemy", "alembic"):
            raise
        raise MissingExtraError("A store", package=error.name, extra="store") from None
    return Store
