"""The judge: a language model that answers questions in a given form."""

from __future__ import annotations

from referee.errors import OptionError
from referee.judge.exchange import Reply, Request, Transport
from referee.judge.judge import Judge
from referee.judge.scripted import ScriptedModel
from referee.steps import Asker

__all__ = ["Judge", "Reply", "Request", "ScriptedModel", "Transport", "judge_for"]


def judge_for(model: str | None) -> Asker:
    """The judge that a model's name, or the environment, stands for.

    Raises:
        OptionError: No name is given and `REFEREE_MODEL` is not set.
    """
    raise OptionError("this scorer asks a judge and has none: give model=, or set REFEREE_MODEL")
