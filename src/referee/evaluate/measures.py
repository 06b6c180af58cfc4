"""Gates and scorers of an evaluation: from what users give to measures with unique ids."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_args

from referee.bounds import Bounds, read_bounds
from referee.errors import OptionError
from referee.evaluate.naming import unique_name
from referee.loading import load_scorer
from referee.pipeline import Scorer
from referee.results import Group, Measure, Role
from referee.scores import TOLERANCE
from referee.steps import Asker

GROUPS: tuple[str, ...] = get_args(Group)

_PLAIN = Bounds(min=1.0)
_SCORER_KEYS = frozenset({"scorer", "threshold", "min_coverage"})
_THRESHOLD_KEYS = frozenset({"min", "max", "confidence", "min_coverage"})
_GATE_KEYS = frozenset({"scorer", "min", "max", "passes"})
_PASSES = re.compile(r"\s*(\d+)\s+of\s+(\d+)\s*")


@dataclass(frozen=True, slots=True)
class Applied:
    """A measure, the scorer that takes it, and the object that the user gave for it."""

    measure: Measure
    scorer: Scorer[Any, Any]
    given: Any


class Reader:
    """Reads gates and scorers; the judge and the number of repeats are the evaluation's.

    Args:
        judge: The judge of scorers that have none of their own.
        repeats: How often an item is run; the most often run one, where that differs.
    """

    def __init__(self, judge: Asker | str | None = None, repeats: int = 1) -> None:
        self.judge = judge
        self.repeats = repeats

    def read(self, gates: Any, scorers: Any, taken: Iterable[str] = ()) -> list[Applied]:
        """All measures, gates first, with ids that are unique among them and among those already taken.

        Raises:
            OptionError: A gate, scorer, threshold or group is wrong; tells which.
        """
        used = set(taken)
        roles: tuple[tuple[Role, Any], ...] = (("gate", gates), ("scorer", scorers))
        return [
            self._applied(entry, role, group, step, used)
            for role, given in roles
            for entry, group, step in _entries(given, role)
        ]

    def _applied(self, entry: Any, role: Role, group: Group, step: str | None, used: set[str]) -> Applied:
        given, options = _options(entry, role)
        scorer = load_scorer(given)
        where = f"{role} {scorer.id}"
        try:
            scorer = scorer.ready(self.judge)
        except OptionError as error:
            raise OptionError(f"{where}: {error}") from None
        fields = self._gate(scorer, options, where) if role == "gate" else _threshold(scorer, options, where)
        measure = Measure(
            id=unique_name(scorer.id, used),
            role=role,
            version=scorer.version,
            description=scorer.description,
            range=scorer.range,
            lower_is_better=scorer.lower_is_better,
            group=group,
            step=step,
            **fields,
        )
        return Applied(measure, scorer if measure.id == scorer.id else scorer.with_id(measure.id), given)

    def _gate(self, scorer: Scorer[Any, Any], options: Mapping[str, Any], where: str) -> dict[str, Any]:
        bounds = _PLAIN
        if options.get("min") is not None or options.get("max") is not None:
            bounds = _reachable(read_bounds(options, where), scorer, where)
        elif scorer.lower_is_better or scorer.range != (0.0, 1.0):
            why = (
                "lower is better"
                if scorer.lower_is_better
                else f"its range is {scorer.range[0]:g} to {scorer.range[1]:g}"
            )
            raise OptionError(f"{where}: {why}, so say what passes: {{scorer: ..., min: ..., max: ...}}")
        return {"bounds": bounds, "passes": self._passes(options.get("passes"), where)}

    def _passes(self, rule: Any, where: str) -> int | None:
        if rule is None:
            return None
        match = _PASSES.fullmatch(rule) if isinstance(rule, str) else None
        if match is None or not 0 < int(match[1]) <= int(match[2]):
            raise OptionError(f"{where}: passes is like '4 of 5', not {rule!r}")
        if int(match[2]) != self.repeats:
            raise OptionError(f"{where}: passes is {rule!r}, but an item is run {self.repeats} times (repeats)")
        return int(match[1])


def _entries(given: Any, role: Role) -> Iterable[tuple[Any, Group, str | None]]:
    """Each entry of a flat list or of groups, with its group and workflow step."""
    if given is None:
        return
    if not isinstance(given, Mapping):
        for entry in _listed(given, f"{role}s"):
            yield entry, "agent", None
        return
    for group, listed in given.items():
        if group not in GROUPS:
            near = get_close_matches(str(group), GROUPS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(GROUPS)}"
            raise OptionError(f"{role}s: there is no group {group!r}; {hint} (for single {role}s give a list)")
        if group != "steps":
            for entry in _listed(listed, f"{role}s, group {group}"):
                yield entry, group, None
            continue
        if not isinstance(listed, Mapping):
            raise OptionError(f"{role}s: the group steps names each step: {{step: [scorers]}}")
        for step, of_step in listed.items():
            for entry in _listed(of_step, f"{role}s, step {step}"):
                yield entry, "steps", str(step)


def _listed(given: Any, what: str) -> Sequence[Any]:
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise OptionError(f"{what}: give a list, not {type(given).__name__}")
    return list(given)


def _options(entry: Any, role: Role) -> tuple[Any, Mapping[str, Any]]:
    """The scorer of an entry, and what is asked of it."""
    if not isinstance(entry, Mapping) or "scorer" not in entry:
        return entry, {}
    keys = _GATE_KEYS if role == "gate" else _SCORER_KEYS
    for key in entry:
        if key not in keys:
            near = get_close_matches(str(key), keys, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it takes {', '.join(sorted(keys))}"
            raise OptionError(f"{role}s: an entry with 'scorer' has no {key!r}; {hint}")
    return entry["scorer"], entry


def _threshold(scorer: Scorer[Any, Any], options: Mapping[str, Any], where: str) -> dict[str, Any]:
    threshold = options.get("threshold")
    coverage = options.get("min_coverage")
    if threshold is None:
        if "threshold" in options or coverage is not None:
            raise OptionError(f"{where}: min_coverage is part of a threshold, and a threshold needs a bound")
        return {}
    fields: dict[str, Any] = {}
    if isinstance(threshold, Mapping):
        unknown = set(threshold) - _THRESHOLD_KEYS
        if unknown:
            raise OptionError(
                f"{where}: a threshold takes {', '.join(sorted(_THRESHOLD_KEYS))}; not {sorted(unknown)[0]!r}"
            )
        coverage = threshold.get("min_coverage", coverage)
        if threshold.get("confidence") is not None:
            fields["confidence"] = share(threshold["confidence"], f"{where}: confidence", least_open=True)
    elif scorer.lower_is_better:
        raise OptionError(f"{where}: lower is better, so a threshold says max: {{max: {threshold!r}}}")
    fields["bounds"] = _reachable(read_bounds(threshold, f"{where}: threshold"), scorer, f"{where}: threshold")
    if coverage is not None:
        fields["min_coverage"] = share(coverage, f"{where}: min_coverage")
    return fields


def _reachable(bounds: Bounds, scorer: Scorer[Any, Any], where: str) -> Bounds:
    """The bounds, if the scorer can give a number within them."""
    low, high = scorer.range
    if (bounds.min is not None and bounds.min > high + TOLERANCE) or (
        bounds.max is not None and bounds.max < low - TOLERANCE
    ):
        raise OptionError(f"{where}: {bounds} can't be reached; the scores are {low:g} to {high:g}")
    return bounds


def share(value: Any, what: str, *, least_open: bool = False) -> float:
    """The value, if it is a number in 0 to 1; with `least_open` neither 0 nor 1.

    Raises:
        OptionError: It is not.
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not 0 <= value <= 1 or (least_open and (value == 0 or (1 + value) / 2 >= 1)):
        raise OptionError(
            f"{what} must be a number {'between' if least_open else 'from'} 0 {'and' if least_open else 'to'} 1, not {value!r}"
        )
    return float(value)
