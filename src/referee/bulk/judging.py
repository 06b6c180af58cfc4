"""The judge of a job whose runs are scored in several processes."""

from __future__ import annotations

import msgspec

from referee.judge import Budget, Judge
from referee.judge.limits import Limits


class JudgeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Which judge is asked, and what it may cost. Keys are found where it is asked, never sent.

    Attributes:
        model, base_url: As for `referee.Judge`.
        money, calls: The budget of all processes together.
        concurrency: How many requests may be under way at once, in all processes together.
    """

    model: str | None = None
    base_url: str | None = None
    money: float | None = None
    calls: int | None = None
    concurrency: int = 20

    @property
    def budget(self) -> Budget | None:
        """The budget; `None` when there is no limit."""
        if self.money is None and self.calls is None:
            return None
        return Budget(money=self.money, calls=self.calls)

    def judge(self, limits: Limits | None, budget: Budget | None) -> Judge:
        """The judge.

        Raises:
            OptionError: The model's name, the address or the key is wrong, or a budget is given without a model's price.
        """
        return Judge(self.model, base_url=self.base_url, limits=limits, budget=budget)
