"""Filters: which runs qualify for a scorer, as plain data. Checked when they are made, and quick to apply."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import msgspec

from referee.errors import OptionError
from referee.jsonvalue import equal

#: What a path may start with; those of the first line go on with a name.
_OPEN_ROOTS = ("context", "entity")
_ROOTS = (*_OPEN_ROOTS, "source", "thread_id")


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What a filter can look at: what is known of a run beside its messages.

    Attributes:
        context: The request's context.
        entity: What was run: `name` and whatever else the application says of it.
        source: Where the run comes from, such as `live` or `test`.
        thread_id: The conversation.
    """

    context: Mapping[str, Any] | None = None
    entity: Mapping[str, Any] | None = None
    source: str | None = None
    thread_id: str | None = None


Filter: TypeAlias = Callable[[Facts], bool]
_Value: TypeAlias = Callable[[Facts], Any]

#: What a path that leads nowhere gives.
_MISSING = object()


def compile_filter(condition: Any, where: str) -> Filter:
    """A function that says whether a run qualifies, from plain data.

    | condition | true when |
    |---|---|
    | `{"op": "eq", "left": L, "right": R}`, also `ne lt lte gt gte` | the two compare so; order is for two numbers or two texts |
    | `{"op": "in", "value": V, "set": [...]}`, also `not_in` | the value is one of the set |
    | `{"op": "exists", "path": P}`, also `not_exists` | the path leads somewhere |
    | `{"op": "truthy", "value": V}`, also `falsy` | the value counts as true: not empty, not zero |
    | `{"op": "and", "args": [...]}`, also `or` | all of them, any of them |
    | `{"op": "not", "arg": C}` | the condition is false |

    A value is `{"path": "context.plan"}` or `{"literal": "pro"}`. Paths start with `context.`, `entity.`, or are
    `source` or `thread_id`. A comparison with a path that leads nowhere is false, `ne` too; so is `in`.

    Args:
        condition: The data.
        where: Where the data stands, for the error.

    Raises:
        OptionError: A path or an operator is unknown, or a field is missing or surplus. It says where.

    Example:
        >>> qualifies = compile_filter(
        ...     {"op": "eq", "left": {"path": "context.plan"}, "right": {"literal": "pro"}}, "scorers.tone.filter"
        ... )
        >>> qualifies(Facts(context={"plan": "pro"})), qualifies(Facts())
        (True, False)
    """
    op = condition.get("op") if isinstance(condition, Mapping) else None
    if not isinstance(op, str) or op not in _COMPILERS:
        known = ", ".join(_COMPILERS)
        raise OptionError(f'{where}: expected {{"op": ...}} with one of {known}, not {condition!r}')
    fields, compiler = _COMPILERS[op]
    given = set(condition) - {"op"}
    if given != set(fields):
        raise OptionError(
            f"{where}: {op} takes {' and '.join(fields)}, not {', '.join(map(str, sorted(given))) or 'nothing'}"
        )
    return compiler(op, condition, where)


def _comparison(op: str, condition: Mapping[str, Any], where: str) -> Filter:
    left = _value(condition["left"], f"{where}.left")
    right = _value(condition["right"], f"{where}.right")
    compare = _COMPARE[op]

    def qualifies(facts: Facts) -> bool:
        ours, theirs = left(facts), right(facts)
        return ours is not _MISSING and theirs is not _MISSING and compare(ours, theirs)

    return qualifies


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def compared(left: Any, right: Any) -> bool:
        if isinstance(left, str) and isinstance(right, str):
            return compare(left, right)
        return _is_number(left) and _is_number(right) and compare(left, right)

    return compared


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": equal,
    "ne": lambda left, right: not equal(left, right),
    "lt": _ordered(operator.lt),
    "lte": _ordered(operator.le),
    "gt": _ordered(operator.gt),
    "gte": _ordered(operator.ge),
}


def _membership(op: str, condition: Mapping[str, Any], where: str) -> Filter:
    value = _value(condition["value"], f"{where}.value")
    members = condition["set"]
    if not isinstance(members, (list, tuple)) or not members:
        raise OptionError(f"{where}.set: expected a list with at least one value, not {members!r}")
    wanted = op == "in"

    def qualifies(facts: Facts) -> bool:
        found = value(facts)
        return (found is not _MISSING and any(equal(found, member) for member in members)) is wanted

    return qualifies


def _existence(op: str, condition: Mapping[str, Any], where: str) -> Filter:
    value = _path(condition["path"], f"{where}.path")
    wanted = op == "exists"
    return lambda facts: (value(facts) is not _MISSING) is wanted


def _truth(op: str, condition: Mapping[str, Any], where: str) -> Filter:
    value = _value(condition["value"], f"{where}.value")
    wanted = op == "truthy"

    def qualifies(facts: Facts) -> bool:
        found = value(facts)
        return (found is not _MISSING and bool(found)) is wanted

    return qualifies


def _composition(op: str, condition: Mapping[str, Any], where: str) -> Filter:
    args = condition["args"]
    if not isinstance(args, (list, tuple)) or not args:
        raise OptionError(f"{where}.args: expected a list with at least one condition, not {args!r}")
    parts = [compile_filter(arg, f"{where}.args[{index}]") for index, arg in enumerate(args)]
    if op == "and":
        return lambda facts: all(part(facts) for part in parts)
    return lambda facts: any(part(facts) for part in parts)


def _negation(op: str, condition: Mapping[str, Any], where: str) -> Filter:
    part = compile_filter(condition["arg"], f"{where}.arg")
    return lambda facts: not part(facts)


_Compiler: TypeAlias = Callable[[str, Mapping[str, Any], str], Filter]

#: For each operator the fields it takes and what makes a function of it.
_COMPILERS: dict[str, tuple[tuple[str, ...], _Compiler]] = {
    **dict.fromkeys(_COMPARE, (("left", "right"), _comparison)),
    **dict.fromkeys(("in", "not_in"), (("value", "set"), _membership)),
    **dict.fromkeys(("exists", "not_exists"), (("path",), _existence)),
    **dict.fromkeys(("truthy", "falsy"), (("value",), _truth)),
    **dict.fromkeys(("and", "or"), (("args",), _composition)),
    "not": (("arg",), _negation),
}


def _value(given: Any, where: str) -> _Value:
    if isinstance(given, Mapping) and set(given) == {"literal"}:
        literal = given["literal"]
        return lambda facts: literal
    if isinstance(given, Mapping) and set(given) == {"path"}:
        return _path(given["path"], f"{where}.path")
    raise OptionError(f'{where}: expected {{"path": ...}} or {{"literal": ...}}, not {given!r}')


def _path(path: Any, where: str) -> _Value:
    root, dot, rest = path.partition(".") if isinstance(path, str) else ("", "", "")
    if root not in _ROOTS or bool(rest) != (root in _OPEN_ROOTS) or (dot and not rest):
        shown = ", ".join(f"{name}.NAME" if name in _OPEN_ROOTS else name for name in _ROOTS)
        raise OptionError(f"{where}: there is no path {path!r}; the paths are {shown}")
    if not rest:
        return lambda facts: _known(getattr(facts, root))
    return lambda facts: _walk(getattr(facts, root), rest)


def _known(value: Any) -> Any:
    return _MISSING if value is None else value


def _walk(value: Any, path: str) -> Any:
    """What lies at a dotted path. A key may hold dots itself: `{"user.tier": 1}` and `{"user": {"tier": 1}}` read alike."""
    if not isinstance(value, Mapping):
        return _MISSING
    if path in value:
        return value[path]
    head, dot, rest = path.partition(".")
    while dot:
        if head in value:
            found = _walk(value[head], rest)
            if found is not _MISSING:
                return found
        name, dot, rest = rest.partition(".")
        head = f"{head}.{name}"
    return _MISSING
