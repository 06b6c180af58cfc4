"""YAML as plain data: safe, without a key given twice, and of bounded size."""

from __future__ import annotations

from typing import Any

import yaml

from referee.errors import ReadError

#: So many values may a text stand for when it uses aliases: nine lines of them can stand for a billion.
_MOST_VALUES = 1_000_000


def read_yaml(text: str, source: str) -> Any:
    """The content of a YAML text.

    Args:
        text: The text.
        source: The file's name, for errors.

    Raises:
        ReadError: It is no YAML, gives a key twice, contains itself, or its aliases stand for too much. Tells the line
            where that is known.

    Example:
        >>> read_yaml("gates: [checks.no_tool_errors]", "suite.yaml")
        {'gates': ['checks.no_tool_errors']}
    """
    try:
        content = yaml.load(text, _Loader)  # noqa: S506 - a subclass of the safe loader
        size = _size(content, {})
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark is not None else None
        raise ReadError(error.problem or "no YAML", source=source, line=line) from None
    except yaml.YAMLError as error:
        raise ReadError(" ".join(str(error).split()), source=source) from None
    except ValueError as error:  # a date such as 2024-13-40
        raise ReadError(f"a value can't be read: {error}", source=source) from None
    except RecursionError:
        raise ReadError("nested too deeply, or it contains itself", source=source) from None
    if size > max(_MOST_VALUES, len(text)):  # without aliases every value takes a character or more
        raise ReadError(f"its aliases (*name) stand for more than {_MOST_VALUES:,} values", source=source)
    return content


class _Loader(yaml.SafeLoader):
    """Safe YAML that refuses a key that is given twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, str) and key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} is given twice", problem_mark=key_node.start_mark)
            seen.add(key if isinstance(key, str) else None)
        return super().construct_mapping(node, deep)


def _size(value: Any, sizes: dict[int, int]) -> int:
    """How many values it holds, those of an alias again for each use; `sizes` has each list and object once."""
    if not isinstance(value, (dict, list)):
        return 1
    known = sizes.get(id(value))
    if known is None:
        held = value.values() if isinstance(value, dict) else value
        known = sizes[id(value)] = 1 + sum(_size(item, sizes) for item in held)
    return known
