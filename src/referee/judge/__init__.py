"""The judge: a language model that answers questions in a given form."""

from __future__ import annotations

from functools import lru_cache

from referee.judge.budget import Budget
from referee.judge.cache import Cache
from referee.judge.clients import model_settings
from referee.judge.estimates import Estimate, estimate
from referee.judge.exchange import Reply, Request, Transport
from referee.judge.judge import Judge
from referee.judge.limits import Limits
from referee.judge.prices import Price
from referee.judge.scripted import ScriptedModel

__all__ = [
    "Budget",
    "Cache",
    "Estimate",
    "Judge",
    "Limits",
    "Price",
    "Reply",
    "Request",
    "ScriptedModel",
    "Transport",
    "estimate",
    "judge_for",
]


def judge_for(model: str | None) -> Judge:
    """The judge that a model's name stands for, or the environment (`REFEREE_MODEL`).

    The same name in the same environment gives the same judge, so that everything that uses it shares its limits.

    Raises:
        OptionError: No name is given and `REFEREE_MODEL` is not set, or the name, the address or the key is wrong.
        MissingExtraError: The package that the model needs is not installed.

    Example:
        >>> judge_for("ollama/qwen3") is judge_for("ollama/qwen3")
        True
    """
    return _judge(*model_settings(model))


@lru_cache(maxsize=64)
def _judge(model: str, environment: tuple[tuple[str, str], ...]) -> Judge:
    return Judge(model)
