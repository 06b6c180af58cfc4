"""The pytest plugin: fixtures `expect_evals` and `expect_eval`, a table of scores at the end, `--referee-output`.

It loads nothing of the library until a test uses one of its fixtures, and adds no hook that is called for every test.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from referee.pytest_expect import ExpectEval, ExpectEvals

_ROWS = pytest.StashKey[list[dict[str, Any]]]()
#: The attribute of a test's report that carries its rows; pytest-xdist sends it from the worker.
_ATTRIBUTE = "referee_rows"
_RECORDER = "referee-recorder"
_FINAL = ("passed", "failed", "xfailed", "xpassed")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("referee", "evaluations").addoption(
        "--referee-output",
        metavar="FILE",
        help="Write every score of expect_evals and expect_eval to FILE (JSON Lines).",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Refuse an output that can't be written, before any test runs."""
    output = config.getoption("--referee-output", None)
    if output and not hasattr(config, "workerinput"):
        file = Path(output)
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.open("a").close()
        except OSError as error:
            raise pytest.UsageError(f"--referee-output {output} can't be written: {error.strerror}") from None


@pytest.fixture
def expect_evals(request: pytest.FixtureRequest) -> ExpectEvals:
    """Run an evaluation and say what share of it must pass: `expect_evals(target=..., data=...).to_pass(0.8)`."""
    from referee.pytest_expect import ExpectEvals

    return ExpectEvals(_rows_of(request))


@pytest.fixture
def expect_eval(request: pytest.FixtureRequest) -> ExpectEval:
    """Score one answer: `expect_eval("It is sunny.", gates=[checks.includes("sunny")]).to_pass()`."""
    from referee.pytest_expect import ExpectEval

    return ExpectEval(_rows_of(request))


def _rows_of(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """The list that the running test's rows go to."""
    plugins = request.config.pluginmanager
    if not plugins.has_plugin(_RECORDER):
        plugins.register(_Recorder(), _RECORDER)
    rows: list[dict[str, Any]] = request.node.stash.setdefault(_ROWS, [])
    return rows


class _Recorder:
    """Puts a test's rows into its report. Registered when the first test uses a fixture."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[Any]:
        report = yield
        if call.when == "call" and item.stash.get(_ROWS, None):
            setattr(report, _ATTRIBUTE, item.stash[_ROWS])
        if call.when == "teardown" and _ROWS in item.stash:
            del item.stash[_ROWS]  # the test may be run again, and starts anew then
        return report


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Show the table and write the file, from the reports of all workers."""
    rows = [
        {"test": report.nodeid, **row}
        for outcome in _FINAL
        for report in terminalreporter.stats.get(outcome, ())
        for row in getattr(report, _ATTRIBUTE, ())
    ]
    output = config.getoption("--referee-output", None)
    if rows or output:
        from referee.pytest_expect import table, write_rows

        if rows:
            terminalreporter.section("scores")
            for line in table(rows):
                terminalreporter.write_line(line)
        if output:
            try:
                write_rows(rows, output)
            except OSError as error:
                pytest.exit(
                    f"--referee-output {output} can't be written: {error.strerror}", pytest.ExitCode.INTERNAL_ERROR
                )
            terminalreporter.write_line(f"{len(rows)} scores written to {output}")
