"""The steps of live scoring that can fail beside a scorer's own: they stand as the step of an error."""

from __future__ import annotations

#: What the agent gave could not be read.
READING = "read_run"
#: The scoring process could not make the scorer.
LOADING = "load_scorer"
#: The scorer took too long, or its process ended.
SCORING = "scoring"
