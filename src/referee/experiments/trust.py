"""Trust in judges: a gate that demands agreement with people gates only when its scorer has shown it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from referee.errors import OptionError
from referee.loading import load_scorer
from referee.scores import TOLERANCE
from referee.steps import Asker
from referee.storage import Store

_KEY = "min_agreement"


class AgreementWarning(UserWarning):
    """A gate's scorer has not shown the agreement with people that is demanded: it informs and does not gate."""


class Trusted(NamedTuple):
    """Gates and scorers as they take part, and a sentence for each gate that only informs."""

    gates: Any
    scorers: Any
    notes: list[str]


def weighed(store: Store, gates: Any, scorers: Any, model: Asker | str | None) -> Trusted:
    """Move each gate whose `min_agreement` its scorer has not reached to the scorers, with a warning.

    The agreement is Cohen's kappa of the latest calibration of the very version that is about to run.

    Args:
        store: Where the calibrations are.
        gates: The gates of an evaluation.
        scorers: Its scorers.
        model: Its judge.

    Raises:
        OptionError: A `min_agreement` is no number from -1 to 1, or stands in a group.
    """
    if not isinstance(gates, Sequence) or isinstance(gates, str):
        _refuse_in_groups(gates)
        return Trusted(gates, scorers, [])
    gating: list[Any] = []
    informing: list[Any] = []
    notes = []
    for gate in gates:
        if not isinstance(gate, Mapping) or _KEY not in gate:
            gating.append(gate)
            continue
        lacking = _lacking(store, gate, model)
        if lacking is None:
            gating.append({name: value for name, value in gate.items() if name != _KEY})
        else:
            informing.append({"scorer": gate["scorer"]})
            notes.append(lacking)
            warnings.warn(lacking, AgreementWarning, stacklevel=3)
    return Trusted(gating, _with(scorers, informing), notes)


def _lacking(store: Store, gate: Mapping[str, Any], model: Asker | str | None) -> str | None:
    """Why a gate only informs; `None` when it gates."""
    least = gate[_KEY]
    if isinstance(least, bool) or not isinstance(least, (int, float)) or not -1 <= least <= 1 or math.isnan(least):
        raise OptionError(f"{_KEY} is a kappa from -1 to 1, not {least!r}")
    if "scorer" not in gate:
        raise OptionError(f"a gate with {_KEY} names its scorer: {{scorer: ..., {_KEY}: ...}}")
    scorer = load_scorer(gate["scorer"]).ready(model)
    found = store.labels.calibration(scorer.id, scorer.version)
    informs = f"{scorer.id} informs and does not gate"
    if found is None:
        return f"{informs}: its version {scorer.version} was never calibrated; label its scores, then calibrate it"
    if found.kappa is None:
        return f"{informs}: its kappa is undefined, because all {found.pairs} labels or scores are alike"
    if found.kappa < least - TOLERANCE:
        return f"{informs}: its kappa over {found.pairs} labels is {found.kappa:.3g}, below {least:g}"
    return None


def _with(scorers: Any, more: list[Any]) -> Any:
    if not more:
        return scorers
    if isinstance(scorers, Mapping):
        return {**scorers, "agent": [*scorers.get("agent", ()), *more]}
    return [*(scorers or ()), *more]


def _refuse_in_groups(gates: Any) -> None:
    if isinstance(gates, Mapping) and _KEY in repr(gates):
        raise OptionError(f"{_KEY} is for gates in a plain list, not in groups")
