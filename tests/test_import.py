"""`import referee` is light: it loads nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys

import referee
from referee import checks, scorers

HEAVY = (
    "sqlalchemy",
    "aiohttp",
    "httpx",
    "openai",
    "starlette",
    "numpy",
    "rich",
    "click",
    "yaml",
    "asyncio",
    "regex",
    "pyarrow",
    "simplemma",
)


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    assert not loaded_by("import referee").intersection(HEAVY)


def test_a_check_loads_no_numpy_until_it_compares_texts() -> None:
    modules = loaded_by("from referee import checks; checks.called_tool('x'); checks.includes('y')")
    assert not modules.intersection(set(HEAVY) - {"asyncio", "regex"})


def test_all_is_complete_and_sorted() -> None:
    for module in (referee, checks, scorers):
        assert list(module.__all__) == sorted(module.__all__), module.__name__
        for name in module.__all__:
            assert getattr(module, name) is not None
    assert set(scorers.FACTORIES) == set(scorers.__all__)
    assert set(referee._HOME) | set(referee._SUBPACKAGES) == set(referee.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    assert not hasattr(referee, "no_such_name")
    assert not hasattr(scorers, "create_no_such_scorer")
    assert "Run" in dir(referee)


def test_import_starts_no_thread_and_changes_no_environment() -> None:
    code = (
        "import os, threading; before = dict(os.environ); import referee; referee.checks; referee.to_run; "
        "assert dict(os.environ) == before; assert threading.active_count() == 1"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
