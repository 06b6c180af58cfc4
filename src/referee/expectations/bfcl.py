"""Answers of the Berkeley Function Calling Leaderboard (BFCL), read as expected calls."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from referee.display import shown
from referee.errors import OptionError, ReadError
from referee.expectations.calls import read_expected_call

_MOST_CHARACTERS = 100_000


def bfcl_calls(answer: Any, *, parameters: Mapping[str, Sequence[str]] | None = None) -> list[dict[str, Any]]:
    """The expected calls of one BFCL answer, as plain data for `checks.tool_calls` or `expected_tool_calls`.

    An answer is a list of calls in one of two forms. `{name: {argument: [allowed values]}}` becomes
    `{name, allowed_args}`, where `""` means that the argument may be absent. A text like `"mv(source='a')"`, as in the
    answers to one turn of a conversation, becomes `{name, args}`; it is parsed and never run.

    BFCL asks for no order of parallel calls and for no other calls: check with `order="any", extra="forbid"`.

    Args:
        answer: The list. Questions that need no call (`irrelevance`) have no answer: give `[]`.
        parameters: The names of each tool's parameters in order, for texts that give an argument without its name.

    Returns:
        A list of entries that can be saved as JSON.

    Raises:
        ReadError: A call is in neither form, or gives an argument without a name that `parameters` does not say.

    Example:
        >>> bfcl_calls([{"area": {"base": [10], "unit": ["units", ""]}}])
        [{'name': 'area', 'allowed_args': {'base': [10], 'unit': ['units', '']}}]
        >>> bfcl_calls(["sort('a.txt')"], parameters={"sort": ["file_name"]})
        [{'name': 'sort', 'args': {'file_name': 'a.txt'}}]
    """
    if isinstance(answer, (str, Mapping)) or not isinstance(answer, Sequence):
        raise ReadError(f"a BFCL answer is a list of calls, not {shown(answer)}")
    return [_entry(call, f"[{index}]", parameters or {}) for index, call in enumerate(answer)]


def _entry(call: Any, where: str, parameters: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    if isinstance(call, str):
        return _parsed(call, where, parameters)
    if not isinstance(call, Mapping) or len(call) != 1:
        raise ReadError(
            f"expected {{name: {{argument: [allowed values]}}}} or a call as text, not {shown(call)}", field=where
        )
    [(name, allowed)] = call.items()
    return _read({"name": name, "allowed_args": allowed}, where)


def _parsed(text: str, where: str, parameters: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    if len(text) > _MOST_CHARACTERS:
        raise ReadError(f"a call of {len(text):,} characters; at most {_MOST_CHARACTERS:,} are read", field=where)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd escapes in a text of the call
            call = ast.parse(text.strip(), mode="eval").body
        if not isinstance(call, ast.Call):
            raise ValueError("it is no call")
        name = ast.unparse(call.func)
        args = {_named(keyword): ast.literal_eval(keyword.value) for keyword in call.keywords}
        values = [ast.literal_eval(value) for value in call.args]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise ReadError(f"{shown(text)} is no call with plain arguments: {error}", field=where) from None
    if len(values) > len(parameters.get(name, ())):
        raise ReadError(
            f"{shown(text)} gives an argument without its name: say parameters={{{name!r}: [names in order]}}",
            field=where,
        )
    named = dict(zip(parameters.get(name, ()), values))
    return _read({"name": name, "args": named | args}, where)


def _read(entry: dict[str, Any], where: str) -> dict[str, Any]:
    try:
        return read_expected_call(entry, where).entry
    except OptionError as error:
        raise ReadError(str(error)) from None


def _named(keyword: ast.keyword) -> str:
    if keyword.arg is None:
        raise ValueError("it unpacks arguments with **")
    return keyword.arg
