"""Ray, as the other modules import it: told to send no usage statistics, or named as the extra that is missing."""

from __future__ import annotations

import os

from referee.errors import MissingExtraError

# Ray sends usage statistics home unless it is told not to; who wants that may say so before.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
try:
    import pyarrow
    import ray
    import ray.data
except ImportError:
    raise MissingExtraError("--engine ray", package="ray", extra="ray") from None

__all__ = ["pyarrow", "ray"]
