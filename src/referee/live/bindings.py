"""Bindings: a scorer with the sampling and the filter under which it looks at live runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from referee.errors import OptionError
from referee.live.filters import Filter, compile_filter
from referee.live.sampling import Sample, sampler
from referee.loading import load_scorer
from referee.pipeline import Scorer
from referee.steps import Asker

_FIELDS = ("scorer", "sampling", "filter")


class Binding:
    """A scorer at work on live runs.

    Attributes:
        name: Its name in `Live(scorers=...)`.
        scorer: The scorer, with its judge.
        spec: The scorer as plain data, for a child process; `None` where it is known as an object only.
        is_own: Whether the user wrote it: it may hang or print.
        sample, qualifies: The decisions; `None` when every run is looked at.
    """

    __slots__ = ("is_own", "name", "qualifies", "sample", "scorer", "spec")

    def __init__(self, name: str, given: Any, judge: Asker | str | None) -> None:
        where = f"scorers.{name}"
        fields = _fields(given, where)
        try:
            scorer = load_scorer(fields["scorer"]).ready(judge)
        except OptionError as error:
            raise OptionError(f"{where}: {error}") from None
        self.name = name
        self.scorer: Scorer[Any, Any] = scorer
        self.spec = scorer.spec if isinstance(fields["scorer"], Scorer) else _plain(fields["scorer"])
        self.is_own = scorer.kind == "custom"
        self.sample: Sample | None = sampler(fields.get("sampling"), f"{where}.sampling")
        condition = fields.get("filter")
        self.qualifies: Filter | None = None if condition is None else compile_filter(condition, f"{where}.filter")

    @property
    def is_check(self) -> bool:
        """Whether it is a ready-made check: quick, and never in need of another process."""
        return self.scorer.kind.startswith("checks.")


def bind(scorers: Mapping[str, Any], judge: Asker | str | None) -> dict[str, Binding]:
    """The bindings that `Live(scorers=...)` describes, by their names.

    Different scorers with one id get `#2`, `#3` appended in order, so that their scores are never pooled.

    Raises:
        OptionError: There is no scorer, or one of them, its sampling or its filter is wrong.
    """
    if not isinstance(scorers, Mapping) or not scorers:
        raise OptionError('scorers must be a dictionary with at least one scorer, {"relevancy": {"scorer": ...}}')
    bindings = {str(name): Binding(str(name), given, judge) for name, given in scorers.items()}
    versions: dict[str, str] = {}
    for binding in bindings.values():
        binding.scorer = _told_apart(binding.scorer, versions)
    return bindings


def _told_apart(scorer: Scorer[Any, Any], versions: dict[str, str]) -> Scorer[Any, Any]:
    name, count = scorer.id, 1
    while versions.setdefault(name, scorer.version) != scorer.version:
        count += 1
        name = f"{scorer.id}#{count}"
    return scorer if name == scorer.id else scorer.with_id(name)


def _fields(given: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        return {"scorer": given}
    if "scorer" not in given:
        raise OptionError(
            f'{where}: expected {{"scorer": ..., "sampling": ..., "filter": ...}}, not {sorted(map(str, given))}'
        )
    for name in given:
        if name not in _FIELDS:
            raise OptionError(f"{where}: there is no option {name!r}; there are: {', '.join(_FIELDS)}")
    return given


def _plain(spec: Any) -> Any:
    """The specification as it is, if it can be sent to another process."""
    if callable(spec) or _lives_in_main(spec):
        return None
    try:
        msgspec.json.encode(spec)
    except (TypeError, ValueError, OverflowError):
        return None
    return spec


def _lives_in_main(spec: Any) -> bool:
    """Whether it names something of the program's main module, which another process does not have."""
    names = spec if isinstance(spec, Mapping) else (spec,)
    return any(isinstance(name, str) and name.startswith("__main__:") for name in names)
