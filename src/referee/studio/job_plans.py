"""What a job may be told to do. A page must not be a way to run any code: only ready-made scorers are taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from referee import jsonvalue
from referee.errors import OptionError

#: A job has at most so many scorers.
MOST_SCORERS = 50
_JOINING = ("checks.all_of", "checks.any_of", "checks.not_")


def scorer_specs(lines: str) -> list[Any]:
    """The scorers of a text, one a line: `NAME`, `NAME=VALUE` or `NAME={json options}`.

    Raises:
        OptionError: There is none, too many, or a line is wrong or names a scorer that is not ready-made.

    Example:
        >>> scorer_specs("checks.includes=sunny")
        [{'checks.includes': {'expected': 'sunny', 'id': 'check-includes'}}]
    """
    words = [line.strip() for line in lines.splitlines() if line.strip()]
    if not 0 < len(words) <= MOST_SCORERS:
        raise OptionError(f"give 1 to {MOST_SCORERS} scorers, one a line, not {len(words)}")
    return [_spec(word) for word in words]


def _spec(word: str) -> Any:
    from referee.loading import load_scorer, parse_scorer

    name, given, value = word.partition("=")
    _check_name(name)
    if given and name in _JOINING:
        _check_specs(_decoded(value))
    scorer = parse_scorer(word)
    if scorer.spec is None:
        raise OptionError(f"{name}: this scorer can't be written down, so a job can't use it")
    spec = msgspec.to_builtins(scorer.spec)
    if any(scorer.options.get(option) is not None for option in ("judge", "model")):
        raise OptionError(f"{name}: a model is given once for the whole job, so that its cost is bounded")
    load_scorer(spec)
    return spec


def _check_name(name: str) -> None:
    from referee.loading import load_scorer, scorer_names

    if ":" in name or name not in scorer_names():
        if ":" in name:
            raise OptionError(f"{name!r} is your own: score with it on the command line, where your code is at home")
        load_scorer(name)  # says which name is the nearest


def _check_specs(value: Any) -> None:
    """Look at the scorers that a joined check is made of."""
    if isinstance(value, str):
        _check_name(value)
    elif isinstance(value, list):
        for one in value:
            _check_specs(one)
    elif isinstance(value, Mapping):
        for name, options in value.items():
            if name in ("scorer", "scorers"):
                _check_specs(options)
            elif name != "id":
                _check_name(str(name))
                if name in _JOINING:
                    _check_specs(options)


def _decoded(text: str) -> Any:
    try:
        return jsonvalue.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return text
