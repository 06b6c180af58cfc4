"""What a judged run would ask and cost, without asking."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import msgspec

from referee.judge.exchange import Reply, Request
from referee.judge.forms import answer_type, json_schema, words_of
from referee.judge.judge import Judge
from referee.judge.prices import Price
from referee.judge.tokens import estimated_tokens
from referee.loops import run_coroutine
from referee.runs import Run
from referee.scores import JudgeUsage, Score
from referee.steps import Asker

#: How many things an answer is expected to be taken apart into, at least, and one more for so many characters.
_FEWEST_PARTS = 1
_CHARACTERS_A_PART = 100
_REASON = "The material says so in its second sentence, which is about the same thing."


class Judged(Protocol):
    """What is estimated: a scorer."""

    @property
    def asks_judge(self) -> bool:
        """Whether a step asks a judge."""
        ...

    @property
    def judge(self) -> Any:
        """Its own judge."""
        ...

    def judged_by(self, judge: Asker) -> Judged:
        """The same scorer asking this judge in every step."""
        ...

    async def run(self, run: Run) -> Score:
        """Score one run."""
        ...


class Estimate(msgspec.Struct, frozen=True):
    """What a judged run would ask and cost.

    Attributes:
        calls: Requests to the endpoint, without retries.
        input_tokens, output_tokens: About how many tokens they have.
        cost: US dollars; `None` where the price is not known.
    """

    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None

    def __str__(self) -> str:
        price = "price not known" if self.cost is None else f"about ${self.cost:.4f}"
        tokens = f"{self.input_tokens:,} tokens in and {self.output_tokens:,} out"
        return f"{self.calls:,} judge calls, about {tokens}, {price}"


def estimate(runs: Iterable[Run], scorers: Sequence[Judged], *, price: Price | None = None) -> Estimate:
    """What scoring these runs would ask of the judge and cost. Nothing is sent.

    Every scorer is run with a stand-in that replies at once: an answer is taken apart into one thing for each 100
    characters, and every reason has one sentence. Runs that are not scorable cost nothing, as in a real run. Repeats and
    tokens are counted; retries and a cache are not.

    Args:
        runs: The runs.
        scorers: The scorers; those that ask no judge cost nothing.
        price: The price of the judge's model, for scorers without a judge of their own.

    Example:
        >>> from referee import scorers
        >>> from referee.testing import create_agent_test_run
        >>> runs = [create_agent_test_run(input_messages="When?", output="The ferry leaves at nine.")]
        >>> print(estimate(runs, [scorers.create_answer_relevancy_scorer()], price=Price(input=1, output=2)))
        3 judge calls, about 649 tokens in and 78 out, about $0.0008
    """
    return run_coroutine(_estimate(runs, scorers, price))


async def _estimate(runs: Iterable[Run], scorers: Sequence[Judged], price: Price | None) -> Estimate:
    stand_in = Judge(_StandIn())
    judged = [scorer for scorer in scorers if scorer.asks_judge]
    trials = [scorer.judged_by(stand_in) for scorer in judged]
    spent = [JudgeUsage() for _ in judged]
    for run in runs:
        for place, score in enumerate(await asyncio.gather(*(trial.run(run) for trial in trials))):
            spent[place] = sum((score.judge or {}).values(), spent[place])
    total = sum(spent, JudgeUsage())
    return Estimate(total.calls, total.input_tokens, total.output_tokens, _cost(judged, spent, price))


def _cost(judged: Sequence[Judged], spent: Sequence[JudgeUsage], price: Price | None) -> float | None:
    """The price of all scorers; `None` if that of one is not known."""
    cost = 0.0
    for scorer, usage in zip(judged, spent):
        its_price = getattr(scorer.judge, "price", None) or price
        if its_price is None:
            return None
        cost += its_price.of(usage.input_tokens, usage.output_tokens)
    return round(cost, 12)


class _StandIn:
    """Replies at once with something that fits, of the length that a reply usually has."""

    name = "estimate"

    async def send(self, request: Request) -> Reply:
        """Make a fitting reply."""
        words = words_of(request.returns)
        schema = json_schema(request.returns)
        if words:
            text = words[0]
        elif schema is None:
            text = _REASON
        else:
            asked = getattr(answer_type(request.returns), "__asked__", {})
            text = msgspec.json.encode(_filled(schema, schema.get("$defs", {}), asked, request.text)).decode()
        usage = JudgeUsage(
            calls=1, attempts=1, input_tokens=estimated_tokens(request.text), output_tokens=estimated_tokens(text)
        )
        return Reply(text=text, usage=usage, alternatives=[(words[0], 0.0)] if words else None)


def _filled(node: dict[str, Any], definitions: dict[str, Any], asked: dict[str, Sequence[str]], prompt: str) -> Any:
    """A value that fits a schema."""
    if "$ref" in node:
        return _filled(definitions[node["$ref"].rpartition("/")[2]], definitions, asked, prompt)
    if "anyOf" in node:
        return _filled(node["anyOf"][0], definitions, asked, prompt)
    if "enum" in node:
        return node["enum"][0]
    if "properties" in node:
        return {
            name: _listed(field, definitions, asked[name], prompt)
            if name in asked
            else _filled(field, definitions, asked, prompt)
            for name, field in node["properties"].items()
        }
    if node.get("type") == "array":
        parts = _FEWEST_PARTS + len(_last_material(prompt)) // _CHARACTERS_A_PART
        return [_filled(node.get("items", {}), definitions, {}, prompt) for _ in range(parts)]
    plain: dict[str, Any] = {"boolean": True, "integer": node.get("minimum", 0), "number": node.get("maximum", 0)}
    return plain.get(node.get("type", ""), _REASON)


def _listed(node: dict[str, Any], definitions: dict[str, Any], ids: Sequence[str], prompt: str) -> list[Any]:
    entry = _filled(node["items"], definitions, {}, prompt)
    return [{**entry, "id": each} for each in ids]


def _last_material(prompt: str) -> str:
    """The last fenced text of a prompt: what is taken apart."""
    _, _, last = prompt.rpartition("<<<end ")[0].rpartition(">>>\n")
    return last
