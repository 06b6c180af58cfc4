"""The examples run: agents of five frameworks, the notebook, and the files for GitHub and GitLab.

Needs the dependency groups `docs`, `frameworks` and `notebook`; the plain agent needs nothing.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from documents import ROOT, extras
from test_docs import check_command

EXAMPLES = ROOT / "examples"
#: Each agent's module and the package that it needs.
AGENTS = {
    "pydantic_ai_agent": "pydantic_ai",
    "openai_agents_agent": "agents",
    "langgraph_agent": "langchain",
    "adk_agent": "google.adk",
}
CI_FILES = {"github-actions.yml": "vendor.github-workflows", "gitlab-ci.yml": "vendor.gitlab-ci"}


def evaluate(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(EXAMPLES / "agents" / "evaluate.py"), name]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


def test_the_plain_agent() -> None:
    done = evaluate("plain_python")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


def test_an_agent_that_cancels_without_looking_fails(tmp_path: Path) -> None:
    (tmp_path / "hasty.py").write_text(
        "from plain_python import *\nimport shop\n"
        "def agent(question):\n"
        "    return [m for m in globals()['_agent'](question) if 'order_status' not in str(m)]\n"
        "import plain_python\n_agent = plain_python.agent\n"
    )
    done = evaluate("hasty", PYTHONPATH=str(tmp_path))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "missing" in done.stdout


@pytest.mark.system
@pytest.mark.parametrize(("name", "package"), AGENTS.items())
def test_the_agents_of_the_frameworks(name: str, package: str) -> None:
    pytest.importorskip(package)
    done = evaluate(name)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout


@pytest.mark.system
def test_the_notebook(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    script = (
        "import sys, nbformat\nfrom nbclient import NotebookClient\n"
        "notebook = nbformat.read(sys.argv[1], as_version=4)\n"
        "NotebookClient(notebook, kernel_name='python3', resources={'metadata': {'path': sys.argv[2]}}).execute()\n"
        "print(sum('text/html' in output.get('data', {}) for cell in notebook.cells for output in cell.get('outputs', [])))"
    )
    notebook = EXAMPLES / "notebook" / "evaluate.ipynb"
    command = [sys.executable, "-W", "ignore", "-c", script, str(notebook), str(notebook.parent)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) >= 2  # the report and the comparison show themselves


def shell_lines(value: Any) -> list[str]:
    """Every command of a CI file."""
    if isinstance(value, dict):
        return [
            line
            for key, each in value.items()
            for line in (_lines(each) if key in ("run", "script") else shell_lines(each))
        ]
    return [line for each in value for line in shell_lines(each)] if isinstance(value, list) else []


def _lines(value: Any) -> list[str]:
    return [line for text in ([value] if isinstance(value, str) else value) for line in text.splitlines()]


@pytest.mark.parametrize("name", CI_FILES)
def test_the_commands_of_the_ci_files_are_right(name: str) -> None:
    lines = shell_lines(yaml.safe_load((EXAMPLES / "ci" / name).read_text(encoding="utf-8")))
    assert any(line.startswith("referee run ") for line in lines)
    for line in lines:
        check_command(line, name)
        for found in re.findall(r"referee\[([^\]]*)\]", line):
            assert set(found.split(",")) <= extras()


@pytest.mark.system
@pytest.mark.parametrize(("name", "schema"), CI_FILES.items())
def test_the_ci_files_fit_their_schema(name: str, schema: str) -> None:
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(EXAMPLES / "ci" / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
