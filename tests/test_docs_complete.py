"""The documentation: every public name, command, option, setting and address is in it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import referee
from documents import PAGES, ROOT, extras, name_of
from referee.cli import COMMANDS, main
from referee.items import Item
from referee.judge.endpoints import PROVIDERS
from referee.suites.spec import TARGETS, SuiteSpec

TEXTS = {name_of(page): page.read_text(encoding="utf-8") for page in PAGES}
ALL_TEXT = "\n".join(TEXTS.values())
#: What a reader wrote down, without the pages that are made of the code.
WRITTEN = "\n".join(text for name, text in TEXTS.items() if "/reference/" not in name)
SETTINGS = TEXTS["docs/settings.md"]
EVALUATIONS = TEXTS["docs/evaluations.md"]
#: Subpackages whose names are for the library itself.
INTERNAL = {"cli", "studio"}


def public_modules() -> list[str]:
    """`referee` and its modules and subpackages that say what is public in them."""
    found = ["referee"]
    for module in pkgutil.iter_modules(referee.__path__, "referee."):
        source = Path(importlib.import_module(module.name).__file__ or "")
        if "\n__all__ = " in source.read_text(encoding="utf-8") and module.name.partition(".")[2] not in INTERNAL:
            found.append(module.name)
    return found


def commands(
    command: click.Command = main, path: tuple[str, ...] = ("referee",)
) -> Iterator[tuple[str, click.Command]]:
    """Every command that does something, by what is typed."""
    if not isinstance(command, click.Group):
        yield " ".join(path), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found is not None
        yield from commands(found, (*path, name))


@pytest.mark.parametrize("module", public_modules())
def test_every_public_name_is_in_the_reference(module: str) -> None:
    loaded = importlib.import_module(module)
    assert f"::: {module}\n" in ALL_TEXT, f"docs/reference has no page with '::: {module}'"
    for name in loaded.__all__:
        value = getattr(loaded, name)
        if inspect.isclass(value) or inspect.isfunction(value) or inspect.ismodule(value):
            assert (value.__doc__ or "").strip(), f"{module}.{name} has no docstring"


@pytest.mark.parametrize("name", [*COMMANDS])
def test_every_command_is_shown_in_use(name: str) -> None:
    assert re.search(rf"\breferee {name}\b", WRITTEN), f"no page shows 'referee {name}'"


@pytest.mark.parametrize(("path", "command"), [pytest.param(*pair, id=pair[0]) for pair in commands()])
def test_every_command_has_examples_and_every_option_says_what_it_does(path: str, command: click.Command) -> None:
    assert "Example" in (command.help or ""), f"{path} --help shows no example"
    for example in re.findall(r"^ *(referee [^\n]*)", (command.help or "").partition("Example")[2], re.MULTILINE):
        assert example.startswith((f"{path} ", "referee init ", path)), example
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{path} {parameter.opts[0]} has no help"


def test_the_page_of_the_command_line_has_every_option() -> None:
    hooks: dict[str, object] = {}
    exec((ROOT / "docs" / "hooks.py").read_text(encoding="utf-8"), hooks)
    made = hooks["on_page_markdown"](TEXTS["docs/reference/command-line.md"])  # type: ignore[operator]
    for path, command in commands():
        assert f"# {path}\n" in made
        section = made.partition(f"# {path}\n")[2].partition("\n#")[0]
        for parameter in command.params:
            assert all(word in section for word in (*parameter.opts, *parameter.secondary_opts) if word[0] == "-")


def test_every_environment_variable_is_in_the_settings() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    ours = set(re.findall(r"""["'$](REFEREE_[A-Z_]+)""", sources))
    assert {"REFEREE_MODEL", "REFEREE_STORE", "REFEREE_STUDIO_TOKEN"} <= ours
    for name in ours | {key for _, key in PROVIDERS.values() if key}:
        assert f"`{name}`" in SETTINGS, name


def test_every_extra_is_in_the_settings() -> None:
    for name in extras():
        assert f"| `{name}` |" in SETTINGS, name


def test_every_key_of_a_suite_and_an_item_is_documented() -> None:
    fields = {*SuiteSpec.__struct_fields__, *Item.__struct_fields__}
    for kind in TARGETS.values():
        fields |= set(kind.__struct_fields__)
    for name in fields:
        assert f"`{name}`" in EVALUATIONS or f"{name}:" in EVALUATIONS, name


def test_every_option_of_the_pytest_plugin_is_documented() -> None:
    source = (ROOT / "src" / "referee" / "pytest_plugin.py").read_text(encoding="utf-8")
    for option in re.findall(r'"(--referee-[a-z-]+)"', source):
        assert option in SETTINGS
        assert option in TEXTS["docs/pytest.md"]


def test_every_address_of_the_studio_is_documented(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    from referee.storage import Store
    from referee.studio.app import create_app

    with Store(tmp_path / "scores.db") as store:
        routes = {route.path for route in create_app(store, token="t" * 16).routes}  # type: ignore[attr-defined]
    assert "/compare" in routes
    for path in routes:
        known = "/static/" if path.startswith("/static/") else path
        assert re.search(rf"`{re.escape(known)}(?:[`?{{])", ALL_TEXT), f"no page names `{path}`"
