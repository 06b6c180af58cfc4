"""Expected tool calls: from the data that users write to what calls are compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from referee.display import shown
from referee.errors import OptionError
from referee.jsonvalue import deeper_than, plain_copy

#: Arguments that are nested deeper are refused, so that comparing them can't exhaust the stack.
MAX_DEPTH = 100

_FIELDS = ("name", "args", "allowed_args")


class ExpectedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """One call that is expected.

    Attributes:
        name: The tool.
        args: The arguments. Not given: any arguments match.
        allowed_args: Instead of `args`: for each argument the list of its allowed values, where `""` means that the
            argument may be absent. Objects inside hold lists of allowed values again.
    """

    name: str
    args: Any = msgspec.UNSET
    allowed_args: dict[str, Any] | None = None

    @property
    def any_args(self) -> bool:
        """Whether every call of this tool matches."""
        return self.args is msgspec.UNSET and self.allowed_args is None

    @property
    def entry(self) -> dict[str, Any]:
        """The data that this call was read from."""
        if self.allowed_args is not None:
            return {"name": self.name, "allowed_args": self.allowed_args}
        if self.args is None or self.args is msgspec.UNSET:
            return {"name": self.name}
        return {"name": self.name, "args": self.args}


def read_expected_calls(data: Any, where: str = "expected") -> list[ExpectedCall]:
    """The expected calls of a list of names and `{name, args}` entries.

    Args:
        data: The list.
        where: How an error names it.

    Raises:
        OptionError: It is no list, or an entry is wrong.

    Example:
        >>> read_expected_calls(["login", {"name": "book", "args": {"seat": "4A"}}])[1]
        ExpectedCall(name='book', args={'seat': '4A'}, allowed_args=None)
    """
    if isinstance(data, (str, bytes)) or not isinstance(data, Sequence):
        raise OptionError(f"{where} must be a list of expected calls, not {shown(data)}")
    calls = _plain_calls(data)
    if calls is None:
        calls = [read_expected_call(entry, f"{where}[{index}]") for index, entry in enumerate(data)]
    return calls


def _plain_calls(data: Sequence[Any]) -> list[ExpectedCall] | None:
    """The calls of plain `{name, args}` entries, read at once; `None` where an entry is anything else."""
    for entry in data:
        if type(entry) is not dict or len(entry) != 2 or entry.get("args") is None:
            return None
        if type(entry.get("name")) is not str or not entry["name"]:
            return None
    copies = plain_copy([entry["args"] for entry in data], MAX_DEPTH)
    return copies and [ExpectedCall(entry["name"], args) for entry, args in zip(data, copies)]


def read_expected_call(entry: Any, where: str = "expected") -> ExpectedCall:
    """One expected call: a name, or an object with `name` and `args` or `allowed_args`.

    Raises:
        OptionError: It is neither.
    """
    if isinstance(entry, str):
        entry = {"name": entry}
    if not isinstance(entry, Mapping):
        raise OptionError(f"{where} must be the name of a tool or {{name, args}}, not {shown(entry)}")
    unknown = [key for key in entry if key not in _FIELDS]
    if unknown:
        raise OptionError(f"{where} has an unknown field {unknown[0]!r}; its fields are {', '.join(_FIELDS)}")
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise OptionError(f"{where}.name must be the name of a tool, not {shown(name)}")
    args, allowed = entry.get("args"), entry.get("allowed_args")
    if args is not None and allowed is not None:
        raise OptionError(f"{where} has both args and allowed_args; give one of them")
    if allowed is not None:
        allowed = _json_value(allowed, f"{where}.allowed_args")
        _check_allowed(allowed, f"{where}.allowed_args")
        return ExpectedCall(name, allowed_args=allowed)
    return ExpectedCall(name, msgspec.UNSET if args is None else _json_value(args, f"{where}.args"))


def _json_value(value: Any, where: str) -> Any:
    """The value as the arguments of a call can only be: tuples are lists, times are texts and so on."""
    copy = plain_copy(value, MAX_DEPTH)
    if copy is not None:
        return copy
    if deeper_than(value, MAX_DEPTH):
        raise OptionError(f"{where} is nested deeper than {MAX_DEPTH} levels")
    try:
        return _plain(value)
    except TypeError as error:
        raise OptionError(f"{where} holds something that is no JSON value: {error}") from None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return msgspec.to_builtins(value)


def _check_allowed(allowed: Any, where: str) -> None:
    if not isinstance(allowed, dict):
        raise OptionError(f"{where} must be an object of lists of allowed values, not {shown(allowed)}")
    for name, options in allowed.items():
        if not isinstance(options, list) or not options:
            raise OptionError(f"{where}.{name} must be a list of allowed values, not {shown(options)}")
        for option in options:
            for inner in option if isinstance(option, list) else [option]:
                if isinstance(inner, dict):
                    _check_allowed(inner, f"{where}.{name}")
