"""Suites: an evaluation in one YAML or TOML file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from referee.errors import OptionError, RefereeError
from referee.evaluate import CommandTarget, HttpTarget, RecordedRuns, Target, as_target
from referee.formats import read_runs
from referee.loading import import_object
from referee.suites.environment import expanded
from referee.suites.files import read_document, read_items
from referee.suites.spec import (
    TARGETS,
    CommandSpec,
    EndpointSpec,
    FunctionSpec,
    RecordedSpec,
    SuiteSpec,
    read_spec,
)


class Suite:
    """A suite that was read. `arguments()` are those of `run_evals`.

    Attributes:
        path: Its file.
        spec: What it says.
    """

    def __init__(self, path: Path, spec: SuiteSpec) -> None:
        self.path = path
        self.spec = spec

    @property
    def name(self) -> str:
        """Its name, the file's when it gives none."""
        return self.spec.name or self.path.stem

    @property
    def folder(self) -> Path:
        """The folder that relative names start from."""
        return self.path.parent

    @property
    def files(self) -> list[Path]:
        """The files that it is made of: itself, its data, recorded runs and the Python files beside it."""
        named = [self.spec.data] if isinstance(self.spec.data, str) else []
        targets = self.spec.targets if isinstance(self.spec.targets, Mapping) else {}
        for target in (self.spec.target, *targets.values()):
            runs = target.get("runs") if isinstance(target, Mapping) else None
            listed = runs if isinstance(runs, list) else [runs]
            named += [name for name in listed if isinstance(name, str)]
        return [self.path, *(self.folder / name for name in named), *sorted(self.folder.glob("*.py"))]

    @property
    def reports(self) -> list[Path]:
        """The report files that it asks for."""
        return [self.folder / name for name in self.spec.reports]

    def arguments(self) -> dict[str, Any]:
        """The arguments for `run_evals`: data read, targets made.

        Raises:
            OptionError: A target can't be made.
            ReadError: A data file can't be read.
        """
        spec = self.spec
        if spec.targets is not None and not isinstance(spec.targets, Mapping):
            raise OptionError(f"{self.path}: targets: expected names and targets")
        with importing_from(self.folder):
            target = None if spec.target is None else self._target(spec.target, "target")
            targets = None
            if spec.targets is not None:
                targets = {name: self._target(given, f"targets.{name}") for name, given in spec.targets.items()}
        return {
            "name": self.name,
            "data": self._data(),
            "target": target,
            "targets": targets,
            "model": spec.model,
            "gates": spec.gates,
            "scorers": spec.scorers,
            "repeats": spec.repeats,
            "concurrency": spec.concurrency,
            "item_timeout": spec.item_timeout,
            "timeout": spec.timeout,
            "target_options": spec.target_options,
            "unmocked_tools": spec.unmocked_tools,
            "confidence": spec.confidence,
        }

    def _data(self) -> list[Any] | None:
        if self.spec.data is None or isinstance(self.spec.data, list):
            return self.spec.data
        if isinstance(self.spec.data, str):
            return read_items(self.folder / self.spec.data)
        raise OptionError(f"{self.path}: data: expected a list of items or a file's name")

    def _target(self, given: Any, where: str) -> Target:
        try:
            return self._made(given)
        except RefereeError as error:
            raise OptionError(f"{self.path}: {where}: {error}") from None

    def _made(self, given: Any) -> Target:
        if isinstance(given, str):
            given = {"python": given}
        if not isinstance(given, Mapping):
            raise OptionError(f"expected module:name or an object with {', '.join(TARGETS)}")
        kinds = [key for key in TARGETS if key in given]
        if len(kinds) != 1:
            raise OptionError(f"give exactly one of {', '.join(TARGETS)}")
        return self._of_spec(read_spec(given, TARGETS[kinds[0]], kinds[0]))

    def _of_spec(self, spec: Any) -> Target:
        if isinstance(spec, CommandSpec):
            cwd = str(self.folder / spec.cwd) if spec.cwd else str(self.folder)
            return CommandTarget(spec.command, env=spec.env, cwd=cwd)
        if isinstance(spec, EndpointSpec):
            return HttpTarget(
                spec.url,
                spec.model,
                api_key=spec.api_key,
                headers=spec.headers,
                body=spec.body,
                timeout=spec.timeout,
            )
        if isinstance(spec, RecordedSpec):
            names = [spec.runs] if isinstance(spec.runs, str) else spec.runs
            runs = [run for name in names for run in self._runs(name, spec)]
            return RecordedRuns(runs, item=spec.item)
        assert isinstance(spec, FunctionSpec)
        return as_target(import_object(spec.python))

    def _runs(self, name: str, spec: RecordedSpec) -> Iterator[Any]:
        yield from read_runs(self.folder / name, spec.format, turns=spec.turns, on_error="raise")


@contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Let Python modules be found in the folder, before all other places."""
    place = str(folder.resolve())
    sys.path.insert(0, place)
    try:
        yield
    finally:
        if place in sys.path:
            sys.path.remove(place)


def load_suite(path: str | os.PathLike[str]) -> Suite:
    """Read a suite.

    Args:
        path: A .yaml, .yml, .toml or .json file.

    Raises:
        ReadError: It can't be read or parsed.
        OptionError: A key is unknown (tells the nearest one), a value has the wrong type, or a variable is not set.
    """
    file = Path(path)
    content = read_document(file)
    if content is None:
        raise OptionError(f"{file}: the suite is empty")
    return Suite(file, read_spec(_expanded(content, file), SuiteSpec, str(file)))


def _expanded(content: Any, file: Path) -> Any:
    """The content with its variables replaced, but for inline items: a `${NAME}` in them is what somebody says."""
    if not isinstance(content, dict):
        return content
    items = {"data": content["data"]} if isinstance(content.get("data"), list) else {}
    try:
        return {**expanded({key: value for key, value in content.items() if key not in items}), **items}
    except OptionError as error:
        raise OptionError(f"{file}: {error}") from None
