"""Scorers from plain data, for the command line, suites and workers."""

from __future__ import annotations

import importlib
import inspect
import sys
import traceback
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from referee import checks, scorers
from referee.errors import OptionError, ReadError
from referee.jsonvalue import decode
from referee.nearest import did_you_mean
from referee.pipeline import Scorer, as_scorer
from referee.scorers import short_name

_CHECKS = "checks."
_QUOTES = "'\""
#: Checks whose options are scorers.
_JOINING = ("checks.all_of", "checks.any_of", "checks.not_")


def scorer_names() -> list[str]:
    """Every name that `load_scorer` knows: `checks.NAME`, and the short names of the ready-made scorers.

    Example:
        >>> "checks.includes" in scorer_names(), "tool_call_accuracy_code" in scorer_names()
        (True, True)
    """
    return [f"{_CHECKS}{name}" for name in checks.__all__] + sorted(map(short_name, scorers.FACTORIES))


def load_scorer(spec: Any) -> Scorer[Any, Any]:
    """A scorer from plain data.

    Args:
        spec: One of
            a name: `"checks.no_tool_errors"`, `"completeness"`, `"create_completeness_scorer"`;
            a name with options: `{"checks.includes": {"expected": "sunny"}}`; a list of options, or a single value,
            is given by position; `checks.all_of`, `checks.any_of` and `checks.not_` take scorers in these same forms;
            your own: `"module:function"`, where the function is a scorer, a scorer's factory without required
            arguments, or a plain function of the run; `{"module:factory": {...}}` gives it options;
            a scorer, which is returned as it is.

    Raises:
        OptionError: There is no such scorer, or its options are wrong.

    Example:
        >>> load_scorer({"checks.includes": {"expected": "sunny"}})
        <Scorer check-includes>
        >>> load_scorer("checks.include")
        Traceback (most recent call last):
            ...
        referee.errors.OptionError: there is no scorer 'checks.include'; did you mean checks.includes?
    """
    if isinstance(spec, Scorer):
        return spec
    if isinstance(spec, str):
        return _made(spec, None)
    if isinstance(spec, Mapping) and len(spec) == 1:
        [(name, options)] = spec.items()
        if isinstance(name, str):
            return _made(name, options)
    if callable(spec):
        return as_scorer(spec)
    raise OptionError(f"a scorer is a name or {{name: options}} with one name, not {spec!r}")


def parse_scorer(text: str) -> Scorer[Any, Any]:
    """A scorer from one word of the command line: `NAME`, `NAME=VALUE` or `NAME={json options}`.

    `VALUE` is the scorer's first option: taken as it is where that option is a text, else read as JSON.

    Raises:
        OptionError: There is no such scorer, or its options are wrong.

    Example:
        >>> parse_scorer("checks.includes=sunny").options, parse_scorer('checks.tool_order=["search", "book"]').options
        ({'expected': 'sunny'}, {'expected': ['search', 'book']})
    """
    return load_scorer(parse_spec(text))


def parse_spec(text: str) -> Any:
    """One word of the command line as plain data for `load_scorer`."""
    name, given, value = text.partition("=")
    return {name: _parsed_value(name, value)} if given else name


def _parsed_value(name: str, text: str) -> Any:
    try:
        value = decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return [text]
    if isinstance(value, dict) or ":" in name:
        return value
    first = next(iter(inspect.signature(factory_of(name)).parameters.values()), None)
    takes_text = first is not None and str(first.annotation).startswith("str")
    return [text if takes_text else value]


def load_scorers_file(path: Path) -> list[Scorer[Any, Any]]:
    """The scorers that a YAML or JSON file lists, at the top or under `scorers:`.

    Raises:
        OptionError: The file can't be read or lists no scorers.
    """
    loaded = []
    for number, spec in enumerate(read_specs(path), 1):
        try:
            loaded.append(load_scorer(spec))
        except OptionError as error:
            raise OptionError(f"{path}: scorer {number}: {error}") from None
    return loaded


def read_specs(path: Path) -> list[Any]:
    """The scorers that a YAML or JSON file lists, as plain data for `load_scorer`.

    Raises:
        OptionError: The file can't be read or lists no scorers.
    """
    from referee.yaml_text import read_yaml

    try:
        content = read_yaml(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise OptionError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OptionError(f"{path}: not in UTF-8") from None
    except ReadError as error:
        raise OptionError(str(error)) from None
    listed = content.get("scorers") if isinstance(content, dict) else content
    if not isinstance(listed, list) or not listed:
        raise OptionError(f"{path}: expected a list of scorers, at the top or under 'scorers:'")
    return listed


def _made(name: str, options: Any) -> Scorer[Any, Any]:
    if ":" in name:
        return _own(name, options)
    if name in _JOINING:
        return _joined(name, options)
    return _called(name, factory_of(name), options)


def _joined(name: str, options: Any) -> Scorer[Any, Any]:
    """A check of scorers: its options are a scorer, a list of scorers, or `{scorers: [...], id: ...}`."""
    named = options if isinstance(options, Mapping) and {"scorer", "scorers"} & set(options) else {"scorers": options}
    listed = named["scorers"] if "scorers" in named else [named["scorer"]]
    if not isinstance(listed, (list, tuple)):
        listed = [listed]
    elif len(listed) == 1 and isinstance(listed[0], list):  # NAME=[...] on the command line: the first option is a list
        [listed] = listed
    ids = {"id": named["id"]} if named.get("id") else {}
    return _call(name, factory_of(name), list(map(load_scorer, listed)), ids)


def factory_of(name: str) -> Callable[..., Scorer[Any, Any]]:
    """The factory of a ready-made scorer, by its short or full name.

    Raises:
        OptionError: There is none; names the nearest one.
    """
    if name.startswith(_CHECKS) and name.removeprefix(_CHECKS) in checks.__all__:
        check: Callable[..., Scorer[Any, Any]] = getattr(checks, name.removeprefix(_CHECKS))
        return check
    for factory in scorers.FACTORIES:
        if name in (factory, short_name(factory)):
            made: Callable[..., Scorer[Any, Any]] = getattr(scorers, factory)
            return made
    near = get_close_matches(name, [*scorer_names(), *scorers.FACTORIES], n=1)
    hint = f"did you mean {near[0]}?" if near else "'referee scorers' lists them"
    raise OptionError(f"there is no scorer {name!r}; {hint}")


def _called(name: str, factory: Callable[..., Any], options: Any) -> Scorer[Any, Any]:
    args, kwargs = _arguments(options)
    return _call(name, factory, args, kwargs)


def _call(name: str, factory: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]) -> Scorer[Any, Any]:
    try:
        inspect.signature(factory).bind(*args, **kwargs)
    except TypeError as error:
        by_name = bool(args) and _takes_names_only(factory)
        problem = _unknown_option(factory, kwargs) or str(error)
        if by_name:
            problem = "its options are given by name, like {option: value}"
        raise OptionError(f"{name}: {problem}; its options are {signature_text(factory)}") from None
    return as_scorer(factory(*args, **kwargs))


def _unknown_option(factory: Callable[..., Any], kwargs: dict[str, Any]) -> str | None:
    """What is wrong with the first option that the factory does not have; a misspelt one is not told as a missing one."""
    parameters = inspect.signature(factory).parameters
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    known = list(parameters)
    for option in kwargs:
        if option not in known and not takes_any:
            return f"it has no option {option!r}{did_you_mean(str(option), known)}"
    return None


def _takes_names_only(factory: Callable[..., Any]) -> bool:
    parameters = inspect.signature(factory).parameters.values()
    return all(parameter.kind is parameter.KEYWORD_ONLY for parameter in parameters)


def signature_text(factory: Callable[..., Any]) -> str:
    """The options of a factory with their types and defaults, as people read them.

    Example:
        >>> signature_text(checks.matches)
        '(pattern: str | re.Pattern[str] | Mapping[str, str], exact: bool = False, *, scope: Scope | None = None, id: str | None = None)'
    """
    parts = []
    for parameter in inspect.signature(factory).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        text = f"*{parameter.name}" if parameter.kind is parameter.VAR_POSITIONAL else parameter.name
        if parameter.annotation is not parameter.empty:
            text += f": {inspect.formatannotation(parameter.annotation).strip(_QUOTES)}"
        parts.append(text if parameter.default is parameter.empty else f"{text} = {parameter.default!r}")
    return f"({', '.join(parts)})"


def _arguments(options: Any) -> tuple[list[Any], dict[str, Any]]:
    if options is None:
        return [], {}
    if isinstance(options, Mapping):
        return [], {str(key): value for key, value in options.items()}
    return (list(options), {}) if isinstance(options, (list, tuple)) else ([options], {})


def _own(name: str, options: Any) -> Scorer[Any, Any]:
    """A scorer, factory or function of the user's own, `module:function`, looked up from the working directory too."""
    try:
        found = import_object(name, _import)
    except OptionError as error:
        raise OptionError(f"{name}: {error}") from None
    if isinstance(found, Scorer):
        return found
    if options is not None:
        return _called(name, found, options)
    if callable(found) and not _takes_a_run(found):
        return _called(name, found, None)
    return as_scorer(found)


def import_object(name: str, import_module: Callable[[str], Any] = importlib.import_module) -> Any:
    """The Python object that `module:name` stands for.

    Raises:
        OptionError: It is not written so, the module fails while it is imported (tells where), or has no such name.
    """
    module_name, _, attribute = name.partition(":")
    if not all(part.isidentifier() for part in (*module_name.split("."), *attribute.split("."))):
        raise OptionError(f"something in Python is written module:name, not {name!r}")
    try:
        found = import_module(module_name)
    except (Exception, SystemExit) as error:  # a module may fail in any way while it is imported
        raise OptionError(f"the module {module_name} can't be imported: {_told(error)}") from None
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise OptionError(f"the module {module_name} has no {attribute!r}") from None
    return found


def _told(error: BaseException) -> str:
    """The error on one line, with the place in the user's code where it was raised."""
    said = str(error) if isinstance(error, ImportError) else f"{type(error).__name__}: {error}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    place = frames[-1] if frames else None
    if place is None or place.filename in (__file__, importlib.__file__):
        return said
    return f"{said} ({Path(place.filename).name}, line {place.lineno})"


def _import(name: str) -> Any:
    here = str(Path.cwd())
    added = here not in sys.path
    if added:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    finally:
        if added and here in sys.path:
            sys.path.remove(here)


def _takes_a_run(function: Any) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(parameter.default is parameter.empty and parameter.kind.value <= 1 for parameter in parameters)
