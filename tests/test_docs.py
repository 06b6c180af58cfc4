"""The documentation: every snippet of every page runs. Pages with shell commands are system tests."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from documents import PAGES, ROOT, Block, blocks, commands, name_of, prepare
from fault_endpoint import fault_endpoint
from judge_answers import answer
from referee.cli import main

#: Languages of blocks that are shown and neither run nor read.
SHOWN = ("", "text", "mermaid")
#: Blocks after these markers are run by `.ci/run`, in a clean clone.
RUN_BY_CI = ("first command", "test command")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    """A judge's endpoint that approves of everything."""
    with fault_endpoint(answer) as found:
        yield found.base_url


def with_marks(page: Path) -> Any:
    """A page that starts many commands is a system test; the README is not."""
    starts_commands = any(block.language == "bash" for block in blocks(page)) and page.name != "README.md"
    return pytest.param(page, id=name_of(page), marks=[pytest.mark.system] if starts_commands else [])


@pytest.mark.parametrize("page", [with_marks(page) for page in PAGES])
def test_the_snippets_of_a_page_run(page: Path, tmp_path: Path, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They run one after the other in one folder, as a reader would type them."""
    environment = {**prepare(tmp_path), "REFEREE_BASE_URL": endpoint}
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    before = set(sys.modules)
    names: dict[str, Any] = {"__name__": "page"}
    try:
        for block in blocks(page):
            if block.marker not in RUN_BY_CI:
                run(block, f"{name_of(page)}:{block.line}", names, environment)
    finally:
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
                del sys.modules[name]


def run(block: Block, where: str, names: dict[str, Any], environment: dict[str, str]) -> None:
    if block.title is not None:
        file = Path(block.title)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(block.code, encoding="utf-8")
    elif block.language == "python":
        exec(compile(block.code, where, "exec"), names)
    elif block.language == "bash":
        command = ["bash", "-euo", "pipefail", "-c", block.code]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{where}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    elif block.language == "console":
        for command_line in commands(block):
            check_command(command_line, where)
    elif block.language == "yaml":
        yaml.safe_load(block.code)
    elif block.language == "json":
        json.loads(block.code)
    elif block.language == "toml":
        tomllib.loads(block.code)
    else:
        assert block.language in SHOWN, f"{where}: {block.language} is not run"


def check_command(line: str, where: str) -> None:
    """A command that goes on and on, or needs another machine: its words must be right."""
    inner = line.partition("$(")[2].rpartition(")")[0]
    words = shlex.split(inner or line, comments=True)
    if words[:1] != ["referee"]:
        return
    command: click.Command = main
    context = click.Context(main, info_name="referee")
    words = words[1 : next((place for place, word in enumerate(words) if word in (">", "|", "&&", "&")), None)]
    while isinstance(command, click.Group):
        assert words, where
        found = command.get_command(context, words[0])
        assert found is not None, f"{where}: there is no command {words[0]}"
        context = click.Context(found, info_name=words[0], parent=context)
        command, words = found, words[1:]
    try:
        command.make_context(command.name, words, parent=context.parent)
    except click.UsageError as error:
        pytest.fail(f"{where}: {line}: {error.format_message()}")


def test_the_readme_has_its_two_commands() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for marker in RUN_BY_CI:
        assert text.count(f"<!-- {marker} -->\n```bash\n") == 1


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#\s]+\.[a-z]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in link:
                assert (page.parent / link).exists(), f"{name_of(page)}: {link}"
