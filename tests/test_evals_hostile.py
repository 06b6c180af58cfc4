"""`run_evals` under attack: what swallows a cancellation, changes what it is given, hangs, or gives nonsense."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from referee import Item, OptionError, Run, Step, Trajectory, checks, create_scorer
from referee.evaluate import CommandTarget, Hooks, HttpTarget, RecordedRuns, Report, run_evals, run_evals_sync

SUNNY = checks.includes("sunny")


def echo(text: str) -> str:
    return f"You said {text}."


def scored(function: Callable[[Run], Any], id: str = "own") -> Any:
    return create_scorer(id=id).generate_score(function)


def evaluate(**arguments: Any) -> Report:
    return run_evals_sync(**{"target": echo, "data": ["sunny", "rainy"], **arguments})


def hang(*_: Any) -> Any:
    threading.Event().wait()


@pytest.mark.parametrize("place", ["target", "scorers"])
def test_cancelling_ends_an_evaluation_whose_target_or_scorer_swallows_it(place: str) -> None:
    began: list[Any] = []

    async def stubborn(given: Any) -> Any:
        began.append(given)
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return "sunny"

    async def interrupted() -> None:
        chosen = {"target": stubborn} if place == "target" else {"scorers": [scored(stubborn)]}
        options: dict[str, Any] = {"target": echo, "data": list("abcde"), "gates": [SUNNY], "concurrency": 2}
        running = asyncio.create_task(run_evals(**(options | chosen)))
        while len(began) < 2:
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(interrupted())
    assert len(began) == 2


def test_a_hook_before_an_item_counts_to_the_time_of_the_item() -> None:
    async def before(item: Item, repeat: int) -> None:
        await asyncio.Event().wait()

    report = evaluate(gates=[SUNNY], item_timeout=0.05, hooks=Hooks(before_item=before))
    assert [result.error and result.error.step for result in report.results] == ["before_item"] * 2
    assert "not finished within 0.05 s" in str(report.results[0].error)


def test_a_function_inside_a_ready_check_holds_up_nobody() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    report = evaluate(
        target=lambda text: [{"role": "assistant", "content": "sunny", "tool_calls": [call]}],
        scorers=[
            checks.tool_calls([{"name": "f", "args": {"a": 1}}], matchers={"a": hang}),
            checks.all_of([SUNNY, scored(hang)]),
            SUNNY,
        ],
        item_timeout=0.1,
    )
    assert [summary.errors for summary in report.summary.values()] == [2, 2, 0]


def test_there_are_no_more_workers_than_there_is_work() -> None:
    assert evaluate(gates=[checks.used_no_tools()], concurrency=10**12).verdict == "passed"


def test_a_step_whose_messages_cannot_be_read_is_an_error_of_its_score() -> None:
    fields = {"input": [{"role": 5, "content": {}}], "output": "sunny"}
    steps = Trajectory(steps=[Step(name="draft", step_type="workflow_step", fields=fields)])
    report = evaluate(
        target=lambda text: Run(trajectory=steps), scorers={"agent": [SUNNY], "steps": {"draft": [SUNNY]}}
    )
    assert [summary.errors for summary in report.summary.values()] == [0, 2]


def test_an_agent_may_change_what_it_is_given() -> None:
    seen: list[Any] = []

    def agent(messages: Any, context: Any, item: Item, tool_mocks: Any) -> Any:
        forecast = tool_mocks("forecast")
        seen.append((len(messages), dict(context), dict(item.metadata or {}), dict(forecast)))
        messages.append({"role": "assistant", "content": "sunny"})
        for given in (context, item.metadata, forecast):
            given["seen"] = True
        return messages

    item = {
        "input": [{"role": "user", "content": "Weather?"}],
        "context": {"user": 1},
        "metadata": {"level": 2},
        "tool_mocks": {"forecast": {"sky": "clear"}},
    }
    reports = run_evals_sync(targets={"a": agent, "b": agent}, data=[item], gates=[SUNNY], repeats=2, concurrency=1)
    assert seen == [(1, {"user": 1}, {"level": 2}, {"sky": "clear"})] * 4
    assert [len(result.run.input) for report in reports.values() for result in report.results if result.run] == [1] * 4


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"inputs": "hello"}, "item 1: inputs must be a list"),
        ({"input": "a", "tags": "money"}, "item 1: tags must be a list"),
        ({"input": "a", "metadata": 5}, "item 1: metadata must be an object"),
        ({"input": "a", "context": "c"}, "item 1: context must be an object"),
        ({"turns": [5]}, "item 1: a turn is an object"),
    ],
)
def test_an_item_object_is_checked_as_plain_data_is(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        evaluate(data=[Item(**fields)], gates=[SUNNY])


def test_a_gate_of_so_many_repeats_fits_the_most_repeated_item() -> None:
    runs = [Run(id=f"r{number}", metadata={"task": "a" if number < 8 else "b"}) for number in range(11)]
    gate = {"scorer": checks.used_no_tools(), "passes": "4 of 5"}
    with pytest.raises(OptionError, match="passes is '4 of 5', but an item is run 8 times"):
        run_evals_sync(target=RecordedRuns(runs, item="task"), gates=[gate])


def test_every_conversation_has_a_thread_of_its_own() -> None:
    threads: list[str] = []

    def agent(text: str, thread_id: str) -> str:
        threads.append(thread_id)
        return text

    data = [{"id": name, "input": name} for name in ("b-c", "c", "c-1")]
    run_evals_sync(targets={"a": agent, "a-b": agent}, data=data, gates=[SUNNY], repeats=2)
    assert len(set(threads)) == 12


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"api_key": "sk-12345678\n"}, "^api_key has a line break"),
        ({"api_key": "sk-1234567€"}, "^api_key has .*no plain ASCII"),
        ({"api_key": 12345678}, "^api_key is a text, not int"),
        ({"headers": {"X-Key": "sk-12345678\r\nX: y"}}, "^the header X-Key has a line break"),
        ({"headers": {"X Key": "a"}}, "name that can't be sent"),
        ({"headers": {"X-Key": 5}}, "the header X-Key is a text, not int"),
        ({"model": None}, "model is a name"),
    ],
)
def test_what_an_endpoint_cannot_be_sent_is_refused_and_not_shown(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words) as refused:
        HttpTarget(**{"url": "http://127.0.0.1:9", "model": "m", **options})
    assert "12345678" not in str(refused.value)


def test_what_a_program_started_ends_with_the_time_of_its_item(tmp_path: Path) -> None:
    left = tmp_path / "left"
    command = ["sh", "-c", f"sleep 60 & echo $! > {left}; echo '\"sunny\"'"]
    result = evaluate(target=CommandTarget(command), data=["a"], gates=[SUNNY], item_timeout=0.3).results[0]
    assert result.error is not None
    assert result.error.error_class == "TimeoutError"
    deadline = time.monotonic() + 5
    while _runs(int(left.read_text())):
        assert time.monotonic() < deadline


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("yes", "yes wrote more than 16,777,216 bytes"),
        (["sh", "-c", "yes | head -c 3000000 >&2; echo out of memory >&2; exit 3"], "sh ended with 3: out of memory"),
    ],
)
def test_a_program_that_writes_without_end_is_stopped(command: Any, words: str) -> None:
    result = evaluate(target=CommandTarget(command), data=["a"], gates=[SUNNY]).results[0]
    assert result.error is not None
    assert result.error.message == words


def test_a_program_need_not_read_what_it_is_asked() -> None:
    command = CommandTarget(["sh", "-c", "echo '\"sunny\"'"])
    assert evaluate(target=command, data=["a" * 3_000_000], gates=[SUNNY]).verdict == "passed"


def test_the_variables_of_a_program_are_texts() -> None:
    with pytest.raises(OptionError, match="env is a mapping from names to texts"):
        CommandTarget("true", env={"LEVEL": 5})  # type: ignore[dict-item]
