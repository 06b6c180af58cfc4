"""Options of the commands that may ask a judge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import click
import msgspec

from referee.pipeline import Scorer
from referee.runs import Run

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


class Judging(msgspec.Struct, frozen=True, kw_only=True):
    """What a user said of the judge: which one is asked, what it may cost, whether it is asked at all."""

    model: str | None
    base_url: str | None
    max_cost: float | None
    max_calls: int | None
    cache: Path | None
    dry_run: bool

    @property
    def is_default(self) -> bool:
        """Whether nothing was said of it."""
        given = (self.model, self.base_url, self.max_cost, self.max_calls, self.cache)
        return all(option is None for option in given)


def judge_options(command: Callable[..., Any]) -> Any:
    """The options that say which judge is asked and what it may cost; the command gets them as `judging`."""

    @wraps(command)
    def judging_command(*args: Any, **options: Any) -> Any:
        judging = Judging(**{name: options.pop(name) for name in Judging.__struct_fields__})
        return command(*args, judging=judging, **options)

    decorated: Any = judging_command
    for decorate in reversed(_OPTIONS):
        decorated = decorate(decorated)
    return decorated


def make_judge(judging: Judging) -> Any:
    """The judge that the options describe, or `None` when there are none: then each scorer finds its own.

    Raises:
        OptionError: The model's name, the address or the key is wrong, or a budget is given without a model's price.
    """
    if judging.is_default:
        return None
    from referee.judge import Budget, Judge

    limited = judging.max_cost is not None or judging.max_calls is not None
    budget = Budget(money=judging.max_cost, calls=judging.max_calls) if limited else None
    return Judge(judging.model, base_url=judging.base_url, budget=budget, cache=judging.cache)


def estimated(runs: Iterable[Run], scorers: Sequence[Scorer[Any, Any]], model: str | None) -> str:
    """What scoring these runs would ask of the judge, as one line."""
    from referee.judge import estimate
    from referee.judge.prices import known_price

    provider, _, name = (model or "").replace(":", "/", 1).partition("/")
    return str(estimate(runs, scorers, price=known_price(provider, name) if name else None))
