"""The pages of the documentation, their code blocks, and a folder in which the blocks run.

A block that is fenced as ```LANGUAGE title="FILE"``` is a file that the reader makes; the blocks after it use it.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import stat
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(
    r"(?:^<!-- (?P<marker>[^\n]*) -->\n)?^```(?P<head>[^\n]*)\n(?P<code>.*?)^```", re.DOTALL | re.MULTILINE
)
_TITLE = re.compile(r'title="([^"]+)"')


class Block(NamedTuple):
    """A code block: its language, the file that it stands for, its code, its line, and the comment before it."""

    language: str
    title: str | None
    code: str
    line: int
    marker: str | None


def name_of(page: Path) -> str:
    """The page's path in the project."""
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> Iterator[Block]:
    """The code blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    for match in _FENCE.finditer(text):
        language, _, rest = match["head"].partition(" ")
        title = _TITLE.search(rest)
        line = text.count("\n", 0, match.start()) + 1
        yield Block(language, title[1] if title else None, match["code"], line, match["marker"])


def commands(block: Block) -> list[str]:
    """The commands of a `console` block: what stands after the prompt."""
    return [line[2:] for line in block.code.splitlines() if line.startswith("$ ")]


def extras() -> set[str]:
    """The names of the extras."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return set(tomllib.load(file)["project"]["optional-dependencies"])


_PIP = """\
#!{python}
# Stands in for pip: it installs nothing, and looks whether the extras are there.
import re, sys
wanted = {{extra for word in sys.argv[1:] for found in re.findall(r"\\[([^\\]]*)\\]", word) for extra in found.split(",")}}
unknown = wanted - set({extras!r})
sys.exit(f"there is no extra {{sorted(unknown)}}" if unknown else 0)
"""


def prepare(folder: Path) -> dict[str, str]:
    """Put the files into a folder that the pages take for granted, and give the environment for its commands."""
    (folder / "examples").symlink_to(ROOT / "examples")
    talks = [
        ("Weather?", "It is sunny."),
        ("Weather?", "I do not know."),
        ("Thank you!", "You are welcome."),
        ("Hi", "Hi!"),
    ]
    runs = [
        json.dumps({"id": f"r{place}", "input": asked, "output": said}) for place, (asked, said) in enumerate(talks)
    ]
    (folder / "runs.jsonl").write_text("\n".join(runs) + "\n")
    for name in ("logs", "archive", "bin"):
        (folder / name).mkdir()
    (folder / "logs" / "monday.jsonl").write_text(runs[0] + "\n")
    (folder / "archive" / "old.jsonl.gz").write_bytes(gzip.compress(runs[1].encode() + b"\n"))
    (folder / "scorers.yaml").write_text("scorers: [checks.no_tool_errors, {checks.includes: sunny}]\n")
    (folder / "answers.csv").write_text("number,question,answer\n1,Weather?,It is sunny.\n")
    _program(folder / "bin" / "pip", _PIP.format(python=sys.executable, extras=sorted(extras())))
    path = os.pathsep.join([str(folder / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REFEREE_")}
    return {**kept, "PATH": path, "PYTHONWARNINGS": "default", "PYTHONPATH": str(folder)}


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
