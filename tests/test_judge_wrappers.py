"""What stands between the judge and the endpoint: cache, budget, limits, retries, time-outs."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from judge_answers import JUDGED, good_reply, museum_run
from referee import Score, scorers
from referee.errors import BudgetError, EndpointError, JudgeTimeoutError, OptionError
from referee.judge import Budget, Cache, Judge, Limits, Price, Reply, Request, ScriptedModel
from referee.judge.limits import Pace, Places
from referee.judge.retry import Retrying
from referee.scores import JudgeUsage


class Tone(msgspec.Struct, frozen=True):
    reason: str
    polite: bool


POLITE = '{"reason": "It says please.", "polite": true}'


def approving(request: Request) -> str:
    return good_reply(request.text)


def ask(judge: Judge, prompt: str = "Polite?", returns: Any = Tone) -> Any:
    return asyncio.run(judge.ask(prompt, returns))


# Cache.


@pytest.mark.parametrize("factory", JUDGED)
def test_a_second_run_from_the_cache_asks_nothing_and_gives_the_same_bytes(tmp_path: Path, factory: str) -> None:
    scores = []
    for round_number in range(2):
        model = ScriptedModel(approving)
        judge = Judge(model, cache=tmp_path / "judge.sqlite")
        score = getattr(scorers, factory)(judge, **JUDGED[factory]).run_sync(museum_run())
        assert bool(model.requests) == (round_number == 0)
        assert score.judge is not None
        usage = sum(score.judge.values(), JudgeUsage())
        assert usage.cached == (usage.calls if round_number else 0)
        assert bool(usage.attempts) == (round_number == 0)
        scores.append(msgspec.json.encode(msgspec.structs.replace(score, judge=None)))
    assert scores[0] == scores[1]


def test_model_parameters_prompt_and_repeat_are_the_key(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "judge.sqlite")
    model = ScriptedModel([POLITE])
    judge = Judge(model, cache=cache)
    other_model = ScriptedModel([POLITE], name="other")

    async def asked() -> None:
        for _ in range(2):
            await judge.ask("Polite?", Tone)
            await judge.ask("Polite!", Tone)
            await judge.consult("Polite?", Tone, repeat=1)
            await Judge(model, cache=cache, temperature=0.5).ask("Polite?", Tone)
            await Judge(other_model, cache=cache).ask("Polite?", Tone)

    asyncio.run(asked())
    assert (len(model.requests), len(other_model.requests)) == (4, 1)
    cache.close()


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    model = ScriptedModel(["nonsense", "nonsense", POLITE])
    judge = Judge(model, cache=tmp_path / "judge.sqlite")
    with pytest.raises(Exception, match="no JSON object"):
        ask(judge)
    assert ask(judge).polite
    assert ask(judge).polite
    assert len(model.requests) == 3


def test_a_file_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("These are my notes. " * 500)
    with pytest.raises(OptionError, match=r"notes\.txt"):
        Judge(ScriptedModel([POLITE]), cache=tmp_path / "notes.txt")
    with pytest.raises(OptionError, match="unable to open"):
        Judge(ScriptedModel([POLITE]), cache=tmp_path / "missing" / "judge.sqlite")


def _score_until_killed(folder: str) -> None:
    def reply(request: Request) -> str:
        with (Path(folder) / "asked").open("a") as log:
            log.write("x")
        if len(model.requests) == 4:
            os.kill(os.getpid(), signal.SIGKILL)
        return POLITE

    model = ScriptedModel(reply)
    judge = Judge(model, cache=Path(folder) / "judge.sqlite")
    for number in range(6):
        ask(judge, f"Polite? {number}")


def test_a_killed_run_repeats_no_call_whose_reply_was_kept(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=_score_until_killed, args=(str(tmp_path),))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    assert (tmp_path / "asked").read_text() == "xxxx"  # three replies were kept, the fourth call died
    model = ScriptedModel([POLITE])
    judge = Judge(model, cache=tmp_path / "judge.sqlite")
    for number in range(6):
        ask(judge, f"Polite? {number}")
    assert len(model.requests) == 3


def test_threads_share_a_cache(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "judge.sqlite")
    model = ScriptedModel([POLITE])
    judge = Judge(model, cache=cache)
    threads = [threading.Thread(target=ask, args=(judge, f"Polite? {number % 4}")) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ask(judge, "Polite? 0").polite
    assert 4 <= len(model.requests) <= 16


# Budget.


def test_a_budget_of_calls_is_exact_and_leaves_what_was_done() -> None:
    budget = Budget(calls=5)
    model = ScriptedModel(approving, delay=0.001)
    scorer = scorers.create_rubric_scorer(Judge(model, budget=budget), criteria="Is polite.")

    async def many() -> list[Score]:
        return await asyncio.gather(*(scorer.run(museum_run(f"Free {number}.")) for number in range(12)))

    scores = asyncio.run(many())
    assert [score.status for score in scores].count("scored") == 5
    assert len(model.requests) == 5
    stopped = next(score for score in scores if score.error)
    assert stopped.error is not None
    assert stopped.error.error_class == "BudgetError"
    assert stopped.error.message == "the budget of 5 calls is used up"
    assert budget.spent.attempts == 5


def test_retries_count_towards_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("referee.judge.retry._FIRST_WAIT", 0.0)
    budget = Budget(calls=3)
    model = ScriptedModel([EndpointError("busy", passing=True)])
    with pytest.raises(BudgetError):
        ask(Judge(model, budget=budget, retries=9))
    assert len(model.requests) == 3


def test_budgets_of_tokens_and_money() -> None:
    usage = JudgeUsage(calls=1, attempts=1, input_tokens=90, output_tokens=10, cost=0.01)
    model = ScriptedModel([Reply(text=POLITE, usage=usage)])
    for budget, calls in ((Budget(tokens=1000), 10), (Budget(money=0.05), 5)):
        model.requests.clear()
        judge = Judge(model, budget=budget, price=Price(input=0.1, output=0.1))
        for _ in range(calls):
            ask(judge)
        with pytest.raises(BudgetError, match="is used up"):
            ask(judge)
        assert len(model.requests) == calls


def test_a_budget_in_money_needs_a_price() -> None:
    with pytest.raises(OptionError, match="price="):
        Judge(ScriptedModel([POLITE]), budget=Budget(money=1))
    with pytest.raises(OptionError, match="calls="):
        Budget()


def test_cached_replies_are_free(tmp_path: Path) -> None:
    judge = Judge(ScriptedModel([POLITE]), budget=Budget(calls=1), cache=tmp_path / "judge.sqlite")
    for _ in range(3):
        assert ask(judge).polite


# Limits.


class Counting:
    """A model that counts how many requests are under way."""

    name = "counting"

    def __init__(self, fail_first: int = 0) -> None:
        self.now = self.most = self.served = 0
        self.fail_first = fail_first
        self.lock = threading.Lock()

    async def send(self, request: Request) -> Reply:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.served += 1
            failing = self.served <= self.fail_first
        await asyncio.sleep(0.002)
        with self.lock:
            self.now -= 1
        if failing:
            raise EndpointError("slow down", passing=True, retry_after=0.2)
        return Reply(text=POLITE)


def test_limits_are_shared_by_judges_loops_and_threads() -> None:
    model = Counting()
    limits = Limits(concurrency=3)
    judges = [Judge(model, limits=limits) for _ in range(2)]

    async def many(judge: Judge) -> None:
        await asyncio.gather(*(judge.ask("Polite?", Tone) for _ in range(20)))

    threads = [threading.Thread(target=asyncio.run, args=(many(judge),)) for judge in judges]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.served == 40
    assert model.most <= 3


def test_one_429_never_freezes_the_others() -> None:
    model = Counting(fail_first=1)
    judge = Judge(model, limits=Limits(concurrency=1))
    done: list[float] = []

    async def one() -> None:
        await judge.ask("Polite?", Tone)
        done.append(time.perf_counter())

    async def many() -> None:
        await asyncio.gather(*(one() for _ in range(10)))

    began = time.perf_counter()
    asyncio.run(many())
    waited = [moment - began for moment in done]
    assert waited[-1] >= 0.2
    assert waited[-2] < 0.2


def test_a_place_is_not_lost_when_its_waiter_is_cancelled() -> None:
    async def scenario() -> None:
        places = Places(1)
        async with places:
            waiting = [asyncio.ensure_future(_hold(places)) for _ in range(3)]
            await asyncio.sleep(0)
            waiting[0].cancel()
        waiting[1].cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        assert waiting[2].result() == "held"
        async with asyncio.timeout(1), places:
            pass

    async def _hold(places: Places) -> str:
        async with places:
            return "held"

    asyncio.run(scenario())


def test_a_pace_spaces_requests_and_counts_what_was_really_used() -> None:
    now = [0.0]
    pace = Pace(600, clock=lambda: now[0])
    assert [pace.reserve(1) for _ in range(3)] == pytest.approx([0, 0.1, 0.2])
    pace.add(10)
    assert pace.reserve(1) == pytest.approx(1.3)
    now[0] = 100.0
    assert pace.reserve(1) == 0


def test_requests_a_minute() -> None:
    judge = Judge(ScriptedModel([POLITE]), limits=Limits(requests_per_minute=60 * 100))

    async def many() -> None:
        await asyncio.gather(*(judge.ask("Polite?", Tone) for _ in range(11)))

    began = time.perf_counter()
    asyncio.run(many())
    assert time.perf_counter() - began >= 0.1


@pytest.mark.parametrize(
    "options",
    [
        {"concurrency": 0},
        {"concurrency": 0.5},
        {"concurrency": "4"},
        {"requests_per_minute": 0},
        {"requests_per_minute": "60"},
        {"tokens_per_minute": -1},
        {"tokens_per_minute": float("nan")},
    ],
)
def test_limits_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        Limits(**options)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Budget(calls="5"),  # type: ignore[arg-type]
        lambda: Budget(money=float("nan")),
        lambda: Price(input=-1, output=0),
        lambda: Price(input=0, output=float("nan")),
        lambda: Price(input="1", output=2),  # type: ignore[arg-type]
    ],
)
def test_budgets_and_prices_are_numbers(make: Any) -> None:
    """A price that is no number would never reach a budget's limit."""
    with pytest.raises(OptionError, match="must be a number of at least 0"):
        make()


# Retries and time-outs.


def waits(error: EndpointError, **options: Any) -> list[float]:
    """The waits before each further attempt."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    retrying = Retrying(ScriptedModel([error]), **{"retries": 4, "jitter": lambda: 1.0, **options}, sleep=sleep)
    with pytest.raises(EndpointError):
        asyncio.run(retrying.send(Request(model="m", prompt="?", returns=str)))
    return found


def test_waits_double_with_a_random_part() -> None:
    assert waits(EndpointError("busy", passing=True)) == [0.5, 1.0, 2.0, 4.0]
    assert waits(EndpointError("busy", passing=True), jitter=lambda: 0.0) == [0.25, 0.5, 1.0, 2.0]
    assert max(waits(EndpointError("busy", passing=True), retries=12)) == 30


def test_the_wait_that_the_endpoint_asks_for_is_honoured() -> None:
    assert waits(EndpointError("busy", passing=True, retry_after=7), retries=1, jitter=lambda: 0.0) == [7]
    assert waits(EndpointError("busy", passing=True, retry_after=61)) == []
    assert waits(EndpointError("quota", retry_after=1)) == []


def test_one_item_can_take_only_so_long() -> None:
    judge = Judge(ScriptedModel([POLITE], delay=5), item_timeout=0.05)
    score = scorers.create_rubric_scorer(judge, criteria="Is polite.").run_sync(museum_run())
    assert score.error is not None
    assert score.error.error_class == JudgeTimeoutError.__name__
    assert "item_timeout" in score.error.message
