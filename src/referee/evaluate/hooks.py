"""Hooks around an evaluation and around each of its items."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from referee.evaluate.threads import DeadlineError, is_failure, within
from referee.execution import awaited, step_error
from referee.scores import StepError


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """Functions, sync or async, that are called around an evaluation and around each item.

    Attributes:
        before_run: `(evaluation)`, once, before anything else. If it fails, nothing runs and its exception is raised.
        before_item: `(item, repeat)`, before the target is asked, in the item's time. If it fails, the target is not
            asked and the item is an error.
        after_item: `(result)`, after the item was scored, also when its target failed. If it fails, the scores stand
            and the failure is listed in `hook_errors`.
        after_run: `(report)`, once, at the end. If it fails, the report is still returned and lists the failure.
    """

    before_run: Callable[[Any], Any] | None = None
    before_item: Callable[[Any, int], Any] | None = None
    after_item: Callable[[Any], Any] | None = None
    after_run: Callable[[Any], Any] | None = None


NO_HOOKS = Hooks()


async def call_hook(hook: Callable[..., Any] | None, *args: Any, deadline: float | None = None) -> None:
    """Call a hook, if there is one, and let it fail."""
    if hook is None:
        return
    outcome = hook(*args)
    if inspect.isawaitable(outcome):
        await within(awaited(outcome), deadline)


async def hook_failure(
    name: str, hook: Callable[..., Any] | None, *args: Any, deadline: float | None = None, time_limit: str = ""
) -> StepError | None:
    """Call a hook, if there is one, and give its failure as a record.

    Args:
        name: The hook's.
        hook: The hook.
        args: What it is given.
        deadline: The point in the loop's time at which it is given up.
        time_limit: What its failure says then.
    """
    try:
        await call_hook(hook, *args, deadline=deadline)
    except DeadlineError:
        return StepError(name, "TimeoutError", time_limit)
    except BaseException as error:  # a hook may fail in any way; its rule says what follows
        if not is_failure(error):
            raise
        return step_error(name, error)
    return None
