"""Settings for all tests."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings

IN_CI = bool(os.environ.get("CI"))

#: Commands and stand-ins that tests use; the search for doctests must not import them.
collect_ignore = [str(path) for path in Path(__file__).parent.rglob("*.py") if not path.name.startswith("test_")]

# No deadline: speed is measured in benchmarks, never in a test. In CI the same examples run every time.
settings.register_profile(
    "referee",
    deadline=None,
    derandomize=IN_CI,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("referee")

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


def _never_skipped(report: Report) -> Report:
    """In CI a check that did not run has failed."""
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and in CI every check must run: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _never_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _never_skipped((yield))


@pytest.fixture(scope="module")
def swept() -> Iterator[None]:
    """Finds what frameworks leave behind (the event loops of their synchronous doors) before later tests stumble on it."""
    yield
    asyncio.set_event_loop(None)
    gc.collect()
