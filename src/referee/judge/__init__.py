"""The judge: a language model that answers questions with a schema."""

from __future__ import annotations

from referee.errors import OptionError
from referee.steps import Asker

__all__ = ["judge_for"]


def judge_for(model: str | None) -> Asker:
    """The judge that a model's name, or the environment, stands for.

    Raises:
        OptionError: No name is given and `REFEREE_MODEL` is not set.
    """
    raise OptionError("this scorer asks a judge and has none: give model=, or set REFEREE_MODEL")
