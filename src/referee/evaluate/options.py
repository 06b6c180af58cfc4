"""The options of `run_evals`, for type checkers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias, TypedDict

from referee.evaluate.hooks import Hooks
from referee.evaluate.mocks import Unmocked
from referee.journal import Ledger
from referee.results import ItemResult
from referee.steps import Asker

#: What of a journal is run again: nothing may be there; what is missing or has an error; what did not pass too.
Resume: TypeAlias = bool | Literal["failed"]


class EvalOptions(TypedDict, total=False):
    """Every option of `run_evals` but the target; see there."""

    data: Iterable[Any] | None
    scorers: Any
    gates: Any
    repeats: int | None
    concurrency: int
    model: Asker | str | None
    target_options: Mapping[str, Any] | None
    unmocked_tools: Unmocked
    item_timeout: float | None
    timeout: float | None
    hooks: Hooks | None
    on_item_complete: Callable[[ItemResult], Any] | None
    journal: str | os.PathLike[str] | Ledger | None
    resume: Resume
    fail_fast: bool
    confidence: float
    name: str
