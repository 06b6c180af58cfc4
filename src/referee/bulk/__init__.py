"""Bulk scoring: many runs on all cores of a machine, or on a cluster.

One function scores a shard of the input, and every engine calls it. What comes back is put together as one process would
have written it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from referee.bulk.batches import score_batch

__all__ = ["score_batch"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'referee.bulk' has no attribute {name!r}")
    return getattr(import_module("referee.bulk.batches"), name)
