"""The package as users get it: wheel and sdist, and the wheel with its oldest and newest dependencies.

Needs the dependency group `package`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Sequence
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.system

#: Default tests that show whether the library works with the packages around it: one or two for each of them.
SMOKE = (
    "test_cli.py",
    "test_judge.py",
    "test_more_checks.py",
    "test_pytest_plugin.py",
    "test_store.py",
    "test_studio.py",
    "test_suites.py",
    "test_text_scorers.py",
)
#: What the smoke needs beside the extras.
TOOLS = ("pytest", "pytest-xdist", "hypothesis", "httpx2", "jsonschema")


def need(program: str) -> str:
    """A program of the dependency group; without it the test is skipped, which in CI is a failure (`conftest`)."""
    found = Path(sys.executable).with_name(program)
    if not found.exists():
        pytest.skip(f"{program} is not installed: pip install --group package")
    return str(found)


def run(command: Sequence[str | Path], **options: object) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{command}: {done.stdout[-3000:]}{done.stderr[-3000:]}"
    return str(done.stdout)


def uv(*words: str | Path, **options: object) -> str:
    """uv, asking the same index as pip does."""
    environment = dict(os.environ)
    index = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if index or os.environ.get("PIP_INDEX_URL"):
        environment.setdefault("UV_DEFAULT_INDEX", os.environ.get("PIP_INDEX_URL") or index)
    return run([need("uv"), "--quiet", *words], env=environment, **options)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels and the sdists of the library and of its pytest plugin."""
    folder = tmp_path_factory.mktemp("dist")
    for source in (ROOT, ROOT / "pytest-referee"):
        uv("build", "--out-dir", folder, source)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    [found] = built.glob("referee-*.whl")
    return found


@pytest.fixture(scope="module")
def plugin(built: Path) -> Path:
    [found] = built.glob("pytest_referee-*.whl")
    return found


def test_twine_finds_nothing(built: Path) -> None:
    run([need("twine"), "check", "--strict", *built.glob("*referee-*")])


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = (name for name in names if name.endswith(".dist-info/METADATA"))
        about = message_from_bytes(archive.read(metadata))
    tracked = run(["git", "ls-files", "src/referee"], cwd=ROOT).split()
    files = {name for name in names if ".dist-info/" not in name}
    assert {name.removeprefix("src/") for name in tracked} <= files
    assert "referee/py.typed" in files
    extra = {name for name in files if not name.startswith("referee/") or "/." in name or name.endswith(".pyc")}
    assert not extra
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"]
    assert "text/markdown" in about["Description-Content-Type"]


def test_the_sdist_holds_tests_and_documentation(built: Path) -> None:
    [sdist] = built.glob("referee-*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for wanted in ("src/referee/py.typed", "tests/test_cli.py", "docs/index.md", "mkdocs.yml", "README.md", "LICENSE"):
        assert wanted in names
    assert {"pytest-referee/pyproject.toml", "pytest-referee/README.md"} <= names
    assert not {name for name in names if "cache" in name.casefold() and "/." in f"/{name}"}


def test_the_wheel_of_the_plugin_has_no_file_for_pytest_to_list(plugin: Path) -> None:
    with zipfile.ZipFile(plugin) as archive:
        assert all(".dist-info/" in name for name in archive.namelist())


@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
def test_the_wheel_works_with_its_oldest_and_newest_dependencies(
    resolution: str, wheel: Path, plugin: Path, tmp_path: Path
) -> None:
    venv = tmp_path / "venv"
    python = venv / "bin" / "python"
    uv("venv", "--python", sys.executable, venv)
    wanted = f"referee[fast,judge,parquet,postgres,prices,schema,studio,tone] @ {wheel.as_uri()}"
    uv("pip", "install", "--python", python, "--resolution", resolution, wanted)
    uv("pip", "install", "--python", python, *TOOLS, plugin)
    folder = tmp_path / "project"
    for name in ("tests", "docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    environment.pop("CI", None)  # what these tests skip here, the default tests run
    scored = run(
        [python.parent / "referee", "score", "examples/runs", "--scorers", "examples/scorers.yaml"],
        cwd=folder,
        env=environment,
    )
    assert "completeness-scorer" in scored
    tests = [f"tests/{name}" for name in SMOKE]
    # Old releases of other packages warn in new Pythons; what they warn of is not ours.
    options = ("-q", "-n", "2", "-W", "default", "-p", "no:cacheprovider")
    run([python, "-m", "pytest", *options, *tests], cwd=folder, env=environment)
