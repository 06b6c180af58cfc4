"""What may stand in a suite. The JSON Schema for editors is made of these classes."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Literal, TypeVar

import msgspec

from referee.errors import OptionError

S = TypeVar("S", bound=msgspec.Struct)


class FunctionSpec(msgspec.Struct, frozen=True):
    """A function or an agent in Python: `python: module:name`, looked up in the suite's folder too."""

    python: str


class CommandSpec(msgspec.Struct, frozen=True):
    """A program: JSON on its standard input and output."""

    command: str | list[str]
    env: dict[str, str] = {}
    cwd: str | None = None


class EndpointSpec(msgspec.Struct, frozen=True):
    """An OpenAI-compatible chat endpoint. Write the key as `${NAME}`."""

    url: str
    model: str
    api_key: str | None = None
    headers: dict[str, str] = {}
    body: dict[str, Any] = {}
    timeout: float = 120.0


class RecordedSpec(msgspec.Struct, frozen=True):
    """Recorded runs. `item` names the metadata field that says which item a run belongs to."""

    runs: str | list[str]
    item: str | None = None
    format: str | None = None
    turns: Literal["all", "last", "split"] = "all"


#: The kinds of target by the key that tells them.
TARGETS: dict[str, type[msgspec.Struct]] = {
    "python": FunctionSpec,
    "command": CommandSpec,
    "url": EndpointSpec,
    "runs": RecordedSpec,
}


class SuiteSpec(msgspec.Struct, frozen=True):
    """A suite.

    Attributes:
        name: For people; the file's name when left out.
        data: A list of items, or the name of a .jsonl, .csv, .json or .yaml file.
        target: What is asked: `module:name`, or an object with `python`, `command`, `url` or `runs`.
        targets: Several of them by name, side by side.
        model: The judge's model.
        gates: What every item must hold.
        scorers: What is measured, flat or in groups.
        repeats: How often each item is run.
        concurrency: How many items are asked at once.
        item_timeout: Seconds for one item.
        timeout: Seconds for everything.
        target_options: Handed to the target with every call.
        unmocked_tools: Whether tools without a mock may run.
        confidence: Of the intervals in the report.
        reports: Files to write: .md, .html, .xml (JUnit), .jsonl or .txt.
    """

    name: str = ""
    data: Any = None
    target: Any = None
    targets: Any = None
    model: str | None = None
    gates: Any = ()
    scorers: Any = ()
    repeats: int | None = None
    concurrency: int = 4
    item_timeout: float | None = None
    timeout: float | None = None
    target_options: dict[str, Any] = {}
    unmocked_tools: Literal["allow", "deny"] = "allow"
    confidence: float = 0.95
    reports: list[str] = []


def read_spec(data: Any, kind: type[S], where: str) -> S:
    """The data as an instance of a class above.

    Raises:
        OptionError: A key is unknown (tells the nearest one) or missing, or a value has the wrong type.

    Example:
        >>> read_spec({"urll": "http://localhost", "model": "m"}, EndpointSpec, "target")
        Traceback (most recent call last):
            ...
        referee.errors.OptionError: target: there is no key 'urll'; did you mean url?
    """
    if not isinstance(data, Mapping):
        raise OptionError(f"{where}: expected keys and values, not {type(data).__name__}")
    for key in data:
        if key not in kind.__struct_fields__:
            near = get_close_matches(str(key), kind.__struct_fields__, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(kind.__struct_fields__)}"
            raise OptionError(f"{where}: there is no key {key!r}; {hint}")
    try:
        return msgspec.convert(data, kind, strict=False)  # a number of an environment variable is a text
    except msgspec.ValidationError as error:
        problem, _, place = str(error).partition(" - at `$")
        path = place.rstrip("`").lstrip(".")
        raise OptionError(f"{where}: {path + ': ' if path else ''}{problem}") from None
