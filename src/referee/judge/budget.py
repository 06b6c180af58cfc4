"""A budget: the most that a judge may be asked, and cost."""

from __future__ import annotations

import threading

from referee.errors import BudgetError, JudgeError, OptionError
from referee.judge.exchange import Reply, Request, Transport
from referee.judge.numbers import require_number
from referee.judge.prices import Price
from referee.judge.tokens import estimated_tokens
from referee.scores import JudgeUsage

#: Tokens that a reply is expected to have before there was one.
_FIRST_REPLY = 300


class Budget:
    """The most that judges may be asked, and cost. Several judges may share one.

    What is under way is counted with its estimate, so that requests sent at the same time do not overspend. When a
    request no longer fits, it is not sent and its scorer gets a `BudgetError`; scores made before stand.

    Args:
        calls: Requests to the endpoint, retries included. Replies from a cache are free.
        tokens: Tokens of prompts and replies.
        money: US dollars. The price of the model must be known.

    Attributes:
        spent: What was spent so far.

    Raises:
        OptionError: No limit is given, or one is below 0.

    Example:
        >>> budget = Budget(calls=100, money=0.5)
        >>> budget.spent.attempts
        0
    """

    def __init__(self, *, calls: int | None = None, tokens: int | None = None, money: float | None = None) -> None:
        limits = {"calls": calls, "tokens": tokens, "money": money}
        if all(limit is None for limit in limits.values()):
            raise OptionError("a budget needs calls=, tokens= or money=")
        for name, limit in limits.items():
            require_number(f"budget: {name}", limit, least=0)
        self.calls = calls
        self.tokens = tokens
        self.money = money
        self.spent = JudgeUsage()
        self._under_way = JudgeUsage()
        self._lock = threading.Lock()

    def reserve(self, estimate: JudgeUsage) -> None:
        """Count a request that is about to be sent.

        Raises:
            BudgetError: It does not fit.
        """
        with self._lock:
            total = self.spent + self._under_way + estimate
            if self.calls is not None and total.attempts > self.calls:
                raise BudgetError(f"the budget of {self.calls:,} calls is used up")
            if self.tokens is not None and total.input_tokens + total.output_tokens > self.tokens:
                spent = self.spent.input_tokens + self.spent.output_tokens
                raise BudgetError(f"the budget of {self.tokens:,} tokens is used up: {spent:,} were spent")
            if self.money is not None and (total.cost or 0.0) > self.money:
                raise BudgetError(f"the budget of ${self.money:g} is used up: ${self.spent.cost or 0:.4f} were spent")
            self._under_way += estimate

    def settle(self, estimate: JudgeUsage, spent: JudgeUsage) -> None:
        """Put what a request really cost in place of its estimate."""
        with self._lock:
            self._under_way += _negative(estimate)
            self.spent += spent

    @property
    def mean_reply(self) -> int:
        """The tokens that a reply had on average."""
        return round(self.spent.output_tokens / self.spent.calls) if self.spent.calls else _FIRST_REPLY


def _negative(usage: JudgeUsage) -> JudgeUsage:
    return JudgeUsage(
        calls=-usage.calls,
        attempts=-usage.attempts,
        input_tokens=-usage.input_tokens,
        output_tokens=-usage.output_tokens,
        cost=None if usage.cost is None else -usage.cost,
    )


class Budgeted:
    """Sends a request only while the budget lasts.

    Args:
        transport: Sends the request.
        budget: The budget.
        price: The model's price.

    Raises:
        OptionError: The budget is in money and the price is not known.
    """

    def __init__(self, transport: Transport, budget: Budget, price: Price | None) -> None:
        if budget.money is not None and price is None:
            hint = "give price=Price(input, output), or install a public list of prices: pip install 'referee[prices]'"
            raise OptionError(f"a budget in money needs the model's price: {hint}")
        self._transport = transport
        self._budget = budget
        self._price = price

    async def send(self, request: Request) -> Reply:
        """Send the request if it fits.

        Raises:
            BudgetError: It does not fit; nothing was sent.
            JudgeError: There is no reply.
        """
        estimate = self._estimate(request)
        self._budget.reserve(estimate)
        spent = JudgeUsage(attempts=1)
        try:
            reply = await self._transport.send(request)
            spent = reply.usage
        except JudgeError as error:
            spent = error.usage or spent
            raise
        finally:
            self._budget.settle(estimate, spent)
        return reply

    def _estimate(self, request: Request) -> JudgeUsage:
        asked, replied = estimated_tokens(request.text), self._budget.mean_reply
        cost = self._price.of(asked, replied) if self._price else None
        return JudgeUsage(attempts=1, input_tokens=asked, output_tokens=replied, cost=cost)
