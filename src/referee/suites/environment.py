"""`${NAME}` in the values of a suite."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from referee.errors import OptionError

_PLACE = re.compile(r"\$(?:(?P<escaped>\$)\{|\{(?P<variable>[^}]*)\}?)")
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^{]*))?")


def expanded(value: Any, environment: Mapping[str, str] | None = None, where: str = "") -> Any:
    """The value with `${NAME}` and `${NAME:-default}` replaced in every text; `$${NAME}` stays `${NAME}`.

    As in a shell the default stands for a variable that is not set or empty. Values are replaced after the file was read, so a variable's content can't become structure.

    Args:
        value: Data as it was read.
        environment: The variables; the process's when `None`.
        where: The place of the value, for the error.

    Raises:
        OptionError: A variable is not set and has no default, or what stands in `${...}` is no variable.

    Example:
        >>> expanded({"url": "${HOST:-localhost}/v1"}, {})
        {'url': 'localhost/v1'}
    """
    variables = os.environ if environment is None else environment
    if isinstance(value, str):
        return _PLACE.sub(lambda found: _replaced(found, variables, where), value)
    if isinstance(value, Mapping):
        return {key: expanded(item, variables, f"{where}.{key}" if where else str(key)) for key, item in value.items()}
    if isinstance(value, list):
        return [expanded(item, variables, f"{where}[{place}]") for place, item in enumerate(value)]
    return value


def _replaced(found: re.Match[str], variables: Mapping[str, str], where: str) -> str:
    if found["escaped"]:
        return found.group()[1:]
    variable = _VARIABLE.fullmatch(found["variable"])
    if variable is None or not found.group().endswith("}"):
        raise OptionError(
            f"{where}: {found.group()} is no variable: write ${{NAME}} or ${{NAME:-default}}, and $${{ for the text ${{"
        )
    name, default = variable["name"], variable["default"]
    content = variables.get(name)
    if default is not None:
        return content or default
    if content is None:
        raise OptionError(f"{where}: the environment has no {name} (a default is written ${{{name}:-...}})")
    return content
