"""Hooks around an evaluation and around each of its items."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from referee.evaluate.threads import is_failure
from referee.execution import step_error
from referee.scores import StepError


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Functions, sync or async, that are called around an evaluation and around each item.

    Attributes:
        before_run: `(evaluation)`, once, before anything else. If it fails, nothing runs and its exception is raised.
        before_item: `(item, repeat)`, before the target is asked. If it fails, the target is not asked and the item is
            an error.
        after_item: `(result)`, after the item was scored, also when its target failed. If it fails, the scores stand
            and the failure is listed in `hook_errors`.
        after_run: `(report)`, once, at the end. If it fails, the report is still returned and lists the failure.
    """

    before_run: Callable[[Any], Any] | None = None
    before_item: Callable[[Any, int], Any] | None = None
    after_item: Callable[[Any], Any] | None = None
    after_run: Callable[[Any], Any] | None = None


NO_HOOKS = Hooks()


async def call_hook(hook: Callable[..., Any] | None, *args: Any) -> None:
    """Call a hook, if there is one, and let it fail."""
    if hook is None:
        return
    outcome = hook(*args)
    if inspect.isawaitable(outcome):
        await outcome


async def hook_failure(name: str, hook: Callable[..., Any] | None, *args: Any) -> StepError | None:
    """Call a hook, if there is one, and give its failure as a record."""
    try:
        await call_hook(hook, *args)
    except BaseException as error:  # a hook may fail in any way; its rule says what follows
        if not is_failure(error):
            raise
        return step_error(name, error)
    return None
