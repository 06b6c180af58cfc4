"""Expectations of a trajectory: from the data that users write to what steps are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from referee.display import shown
from referee.errors import OptionError
from referee.items import snake_case
from referee.jsonvalue import deeper_than, is_finite_number, require_flag
from referee.trajectory import Trajectory

#: `strict` position by position; `relaxed` in order, with others between them; `unordered` in any order.
Ordering: TypeAlias = Literal["strict", "relaxed", "unordered"]

#: Names that belong to messages and calls; in a step they would be fields that no step ever has.
_MISNAMED = {
    "args": "tool_args",
    "arguments": "tool_args",
    "result": "tool_result",
    "tool": "name",
    "tool_name": "name",
    "type": "step_type",
}
#: What a recorded step or trajectory also has, and is never compared.
_NEVER_COMPARED = ("duration_ms", "total_duration_ms")
_MAX_DEPTH = 100


class ExpectedStep(msgspec.Struct, frozen=True, omit_defaults=True):
    """One expected step: its name, its type and typed fields where they are given, and what its children must be."""

    name: str
    step_type: str | None = None
    fields: dict[str, Any] = {}
    children: TrajectoryExpectation | None = None


class TrajectoryExpectation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is expected of a trajectory. A field that is `None` is not given.

    Attributes:
        steps: The expected steps. An empty list expects none.
        ordering: How their order counts.
        allow_repeated_steps: Whether a name may occur more often than expected.
        max_steps, max_total_tokens, max_total_duration_ms: Budgets.
        no_redundant_calls: Whether a tool step that repeats the one directly before it counts against efficiency.
        max_retries_per_tool: How often a tool may be called again after it failed.
        blacklisted_tools: Names that must not occur, inside other steps neither.
        blacklisted_sequences: Names that must not occur directly one after another.
    """

    steps: list[ExpectedStep] | None = None
    ordering: Ordering | None = None
    allow_repeated_steps: bool | None = None
    max_steps: float | None = None
    max_total_tokens: float | None = None
    max_total_duration_ms: float | None = None
    no_redundant_calls: bool | None = None
    max_retries_per_tool: float | None = None
    blacklisted_tools: list[str] | None = None
    blacklisted_sequences: list[list[str]] | None = None

    @property
    def wants_efficiency(self) -> bool:
        """Whether a budget or `no_redundant_calls` is given."""
        budgets = (self.max_steps, self.max_total_tokens, self.max_total_duration_ms)
        return self.no_redundant_calls is not None or any(budget is not None for budget in budgets)

    @property
    def wants_anything(self) -> bool:
        """Whether there are steps, a budget or a blacklist to judge by."""
        blacklist = bool(self.blacklisted_tools or self.blacklisted_sequences)
        return self.steps is not None or self.wants_efficiency or blacklist

    def over(self, defaults: TrajectoryExpectation) -> TrajectoryExpectation:
        """These fields, and the defaults' where one is not given."""
        return TrajectoryExpectation(
            **{
                name: getattr(defaults, name) if getattr(self, name) is None else getattr(self, name)
                for name in self.__struct_fields__
            }
        )


def plain_expectation(data: Any, where: str) -> Any:
    """The data as JSON values; `Step` and `Trajectory` become objects.

    Raises:
        OptionError: It holds something else, or is nested too deep.
    """
    try:
        plain = msgspec.to_builtins(data, str_keys=True)
    except (TypeError, RecursionError) as error:
        raise OptionError(f"{where} holds something that is no JSON value: {error}") from None
    if deeper_than(plain, _MAX_DEPTH):
        raise OptionError(f"{where} is nested deeper than {_MAX_DEPTH} levels")
    return {"steps": [], **plain} if isinstance(data, Trajectory) else plain  # one without steps expects none


def read_expectation(data: Any, where: str = "expected_trajectory") -> TrajectoryExpectation:
    """An expectation from plain data; names may be in snake_case or camelCase.

    Args:
        data: A list of steps, an object with the fields of `TrajectoryExpectation`, or `None` for no expectation. A
            step is a name or an object of `name`, `step_type`, typed fields and `children`.
        where: How an error names it.

    Raises:
        OptionError: A field is unknown or wrong.

    Example:
        >>> read_expectation({"steps": ["plan", {"name": "search", "toolArgs": {"q": "tide"}}], "maxSteps": 3}).max_steps
        3
    """
    data = plain_expectation(data, where)
    if data is None:
        return TrajectoryExpectation()
    if isinstance(data, list):
        return TrajectoryExpectation(steps=_steps(data, where))
    if not isinstance(data, Mapping):
        raise OptionError(
            f"{where} must be a list of steps or an object with steps, budgets and so on, not {shown(data)}"
        )
    fields: dict[str, Any] = {}
    for key, value in data.items():
        name = snake_case(key)
        if value is None or name in _NEVER_COMPARED:
            continue
        if name not in _READERS:
            raise OptionError(f"{where} has an unknown field {key!r}; its fields are {', '.join(_READERS)}")
        fields[name] = _READERS[name](value, f"{where}.{key}")
    return TrajectoryExpectation(**fields)


def _step(entry: Any, where: str) -> ExpectedStep:
    if isinstance(entry, str):
        entry = {"name": entry}
    if not isinstance(entry, Mapping):
        raise OptionError(f"{where} must be the name of a step or an object with its name, not {shown(entry)}")
    given = {snake_case(key): value for key, value in entry.items() if value is not None}
    name, step_type, children = given.pop("name", None), given.pop("step_type", None), given.pop("children", None)
    if not isinstance(name, str) or not name:
        raise OptionError(f"{where}.name must be the name of a step, not {shown(name)}")
    if step_type is not None and not isinstance(step_type, str):
        raise OptionError(f"{where}.step_type must be a text such as 'tool_call', not {shown(step_type)}")
    fields = given.pop("fields", None)  # a recorded step of our own keeps its typed fields there
    if isinstance(fields, Mapping):
        given |= {snake_case(key): value for key, value in fields.items() if value is not None}
    wrong = next((key for key in given if key in _MISNAMED), None)
    if wrong:
        raise OptionError(f"{where} has a field {wrong!r} that no step has; did you mean {_MISNAMED[wrong]!r}?")
    typed = {key: value for key, value in given.items() if key not in _NEVER_COMPARED}
    nested = read_expectation(children, f"{where}.children") if children else None
    return ExpectedStep(name, step_type, typed, nested)


def _steps(value: Any, where: str) -> list[ExpectedStep]:
    if not isinstance(value, list):
        raise OptionError(f"{where} must be a list of steps, not {shown(value)}")
    return [_step(entry, f"{where}[{index}]") for index, entry in enumerate(value)]


def require_ordering(value: Any, where: str) -> Ordering:
    """The value, if it is one of the three orderings.

    Raises:
        OptionError: It is not.
    """
    if value not in get_args(Ordering):
        raise OptionError(f"{where} must be one of {', '.join(get_args(Ordering))}, not {shown(value)}")
    ordering: Ordering = value
    return ordering


def _budget(value: Any, where: str) -> float:
    if not is_finite_number(value) or value < 0:
        raise OptionError(f"{where} must be a number of at least 0, not {shown(value)}")
    return value


def _names(value: Any, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise OptionError(f"{where} must be a list of names, not {shown(value)}")
    return value


def _sequences(value: Any, where: str) -> list[list[str]]:
    if not isinstance(value, list):
        raise OptionError(f"{where} must be a list of lists of names, not {shown(value)}")
    read = [_names(names, f"{where}[{index}]") for index, names in enumerate(value)]
    return [names for names in read if names]


_READERS: dict[str, Any] = {
    "steps": _steps,
    "ordering": require_ordering,
    "allow_repeated_steps": require_flag,
    "max_steps": _budget,
    "max_total_tokens": _budget,
    "max_total_duration_ms": _budget,
    "no_redundant_calls": require_flag,
    "max_retries_per_tool": _budget,
    "blacklisted_tools": _names,
    "blacklisted_sequences": _sequences,
}
