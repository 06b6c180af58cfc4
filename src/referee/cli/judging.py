"""Options of the commands that may ask a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from referee.pipeline import Scorer
from referee.runs import Run

F = TypeVar("F", bound=Callable[..., Any])

#: The options in the order of the help.
_OPTIONS = (
    click.option("--model", help="The judge's model, as provider/model; else REFEREE_MODEL."),
    click.option("--base-url", help="The address of an OpenAI-compatible endpoint."),
    click.option("--max-cost", type=click.FloatRange(min=0), help="Stop asking the judge at so many US dollars."),
    click.option("--max-calls", type=click.IntRange(min=0), help="Stop asking the judge after so many calls."),
    click.option(
        "--cache", type=click.Path(path_type=Path, dir_okay=False), help="A file that keeps the judge's replies."
    ),
    click.option("--dry-run", is_flag=True, help="Say how many judge calls and tokens it would take; ask nothing."),
)


def judge_options(command: F) -> F:
    """The options that say which judge is asked and what it may cost."""
    for decorate in reversed(_OPTIONS):
        command = decorate(command)
    return command


def make_judge(
    model: str | None, base_url: str | None, max_cost: float | None, max_calls: int | None, cache: Path | None
) -> Any:
    """The judge that the options describe, or `None` when there are none: then each scorer finds its own.

    Raises:
        OptionError: The model's name, the address or the key is wrong, or a budget is given without a model's price.
    """
    if all(option is None for option in (model, base_url, max_cost, max_calls, cache)):
        return None
    from referee.judge import Budget, Judge

    limited = max_cost is not None or max_calls is not None
    budget = Budget(money=max_cost, calls=max_calls) if limited else None
    return Judge(model, base_url=base_url, budget=budget, cache=cache)


def estimated(runs: Iterable[Run], scorers: Sequence[Scorer[Any, Any]], model: str | None) -> str:
    """What scoring these runs would ask of the judge, as one line."""
    from referee.judge import estimate
    from referee.judge.prices import known_price

    provider, _, name = (model or "").replace(":", "/", 1).partition("/")
    return str(estimate(runs, scorers, price=known_price(provider, name) if name else None))
