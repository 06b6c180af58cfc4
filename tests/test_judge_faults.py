"""Every fault of an endpoint ends in the right outcome, for every judged scorer, in bounded time, with the raw reply kept."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fault_endpoint import FaultEndpoint, fault_endpoint
from judge_answers import JUDGED, SCORES, WITH_NUMBERS, WITHOUT_LISTS, WITHOUT_WORDS, answer, museum_run
from referee import Score, scorers
from referee.errors import EndpointError
from referee.judge import Judge, Price
from referee.judge.endpoints import Endpoint
from referee.judge.openai_client import OpenAIClient

#: Fault: the outcome, the error's class, words of its message.
SCORED = ("scored", "", "")
UNREADABLE = "UnreadableReplyError"
OUTCOMES: dict[str, tuple[str, str, str]] = {
    "ok": SCORED,
    "429-once": SCORED,
    "429-retry-after-once": SCORED,
    "429-retry-after-ms-once": SCORED,
    "500-once": SCORED,
    "503-html-once": SCORED,
    "closed-once": SCORED,
    "hang-once": SCORED,
    "drip-once": SCORED,
    "invalid-json-once": SCORED,
    "error-in-200-once": SCORED,
    "empty-once": SCORED,
    "text-once": SCORED,
    "cut-off-once": SCORED,
    "cut-off-json-once": SCORED,
    "wrong-enum-once": SCORED,
    "too-few-once": SCORED,
    "unknown-id-once": SCORED,
    "fence": SCORED,
    "after-prose": SCORED,
    "after-thoughts": SCORED,
    "extra-fields": SCORED,
    "upper-case": SCORED,
    "no-limits-in-schema": SCORED,
    "no-schema": SCORED,
    "no-structure": SCORED,
    "no-temperature": SCORED,
    "newer-names": SCORED,
    "429": ("error", "EndpointError", "429: slow down"),
    "429-retry-after-long": ("error", "EndpointError", "429: slow down"),
    "429-quota": ("error", "EndpointError", "quota"),
    "500": ("error", "EndpointError", "500: boom"),
    "401": ("error", "EndpointError", "401: Incorrect API key"),
    "404": ("error", "EndpointError", "does not exist"),
    "context": ("error", "EndpointError", "maximum context length"),
    "redirect": ("error", "EndpointError", "302"),
    "html": ("error", "EndpointError", "is base_url right?"),
    "no-choices": ("error", "EndpointError", "no completion"),
    "invalid-json": ("error", "EndpointError", "no valid JSON"),
    "deep-json": ("error", "EndpointError", "no valid JSON"),
    "closed": ("error", "EndpointError", "broke the connection"),
    "hang": ("error", "EndpointError", "no reply within"),
    "drip": ("error", "EndpointError", "no reply within"),
    "refusal": ("error", "RefusedReplyError", "refused"),
    "filter": ("error", "RefusedReplyError", "filter"),
    "filter-400": ("error", "RefusedReplyError", "filter"),
    "empty": ("error", UNREADABLE, "empty"),
    "null": ("error", UNREADABLE, "empty"),
    "text": ("error", UNREADABLE, "no JSON object"),
    "cut-off": ("error", UNREADABLE, "cut off"),
    "cut-off-json": ("error", UNREADABLE, "no JSON object"),
    "wrong-enum": ("error", UNREADABLE, "Invalid enum value"),
    "wrong-number": ("error", UNREADABLE, "Expected `float` <= 1.0"),
    "too-few": ("error", UNREADABLE, "missing:"),
    "too-many": ("error", UNREADABLE, "twice:"),
    "unknown-id": ("error", UNREADABLE, "unknown: z9"),
}
LIST_FAULTS = ("too-few", "too-many", "unknown-id")
#: Faults without a reply to keep.
NO_REPLY = ("closed", "hang", "drip")
RETRIES = 1
TIMEOUT = 0.15
LONGEST = 12.0


@pytest.fixture(scope="module")
def endpoint() -> Iterator[FaultEndpoint]:
    with fault_endpoint(answer) as running:
        yield running


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("referee.judge.retry._FIRST_WAIT", 0.001)


def judged(endpoint: FaultEndpoint, fault: str, factory: str, **options: Any) -> Score:
    endpoint.requests.clear()
    endpoint.seen.clear()
    judge = Judge(fault, base_url=endpoint.base_url, timeout=TIMEOUT, retries=RETRIES, **options)
    scorer = getattr(scorers, factory)(judge, **JUDGED[factory])
    score: Score = scorer.run_sync(museum_run())
    return score


def can_happen(fault: str, factory: str) -> bool:
    """Whether a reply to this scorer has the part that the fault spoils."""
    if fault in LIST_FAULTS:
        return factory not in WITHOUT_LISTS
    if fault == "wrong-enum":
        return factory not in WITHOUT_WORDS
    return fault != "wrong-number" or factory in WITH_NUMBERS


#: The whole table for one scorer is quick; for all of them it takes a while.
FACTORIES = [
    pytest.param(factory, marks=() if factory == "create_faithfulness_scorer" else pytest.mark.system)
    for factory in JUDGED
]


@pytest.mark.parametrize("factory", FACTORIES)
@pytest.mark.parametrize("fault", OUTCOMES)
def test_fault(endpoint: FaultEndpoint, fault: str, factory: str) -> None:
    status, error_class, words = OUTCOMES[fault] if can_happen(fault, factory) else SCORED
    began = time.perf_counter()
    score = judged(endpoint, fault, factory)
    assert time.perf_counter() - began < LONGEST
    assert score.status == status, score.error or score
    if status == "scored":
        assert score.score == SCORES.get(factory, (1.0, 0.0))[0]
        assert score.reason_error is None
        return
    assert score.score is None
    assert score.error is not None
    assert score.error.error_class == error_class
    assert words in score.error.message
    assert bool(score.error.raw_reply) == (fault not in (*NO_REPLY, "empty", "null", "filter", "redirect"))
    assert score.judge is not None
    assert sum(usage.attempts for usage in score.judge.values()) >= 1


@pytest.mark.parametrize(
    ("fault", "attempts"),
    [("429-quota", 1), ("401", 1), ("html", 1), ("429-retry-after-long", 1), ("429", 2), ("500", 2), ("closed", 2)],
)
def test_only_what_may_pass_is_sent_again(endpoint: FaultEndpoint, fault: str, attempts: int) -> None:
    score = judged(endpoint, fault, "create_rubric_scorer")
    assert len(endpoint.requests) == attempts
    assert score.judge is not None
    assert score.judge["analyze"].attempts == attempts


def test_an_unreadable_reply_is_asked_again_once_with_the_problem(endpoint: FaultEndpoint) -> None:
    judged(endpoint, "wrong-enum", "create_rubric_scorer")
    assert len(endpoint.requests) == 2
    talk = endpoint.requests[1]["messages"]
    assert [message["role"] for message in talk] == ["user", "assistant", "user"]
    assert "Invalid enum value 'maybe'" in talk[2]["content"]


def test_a_reply_that_was_cut_off_is_asked_again_with_more_room(endpoint: FaultEndpoint) -> None:
    judged(endpoint, "cut-off-once", "create_rubric_scorer")
    first, second = endpoint.requests
    assert second["max_tokens"] == 2 * first["max_tokens"]
    assert len(second["messages"]) == 1


@pytest.mark.parametrize("fault", ["no-limits-in-schema", "no-schema", "no-structure", "no-temperature", "newer-names"])
def test_what_a_model_takes_is_learnt_once(endpoint: FaultEndpoint, fault: str) -> None:
    endpoint.requests.clear()
    judge = Judge(fault, base_url=endpoint.base_url)
    scorer = scorers.create_rubric_scorer(judge, criteria="States the price.")

    async def many() -> list[Score]:
        return await asyncio.gather(*(scorer.run(museum_run(f"Free {number}.")) for number in range(20)))

    assert {score.score for score in asyncio.run(many())} == {1.0}
    refused = len(endpoint.requests) - 20
    assert refused == {"no-schema": 2, "no-structure": 3}.get(fault, 1)
    scorer.run_sync(museum_run("Free at last."))
    assert len(endpoint.requests) == 21 + refused


@pytest.mark.parametrize("cost", [-2.0, True, "free", None])
def test_a_usage_below_nothing_gives_no_budget_back(cost: Any) -> None:
    usage = {"prompt_tokens": -1_000_000, "completion_tokens": -5, "cost": cost}
    content = {"choices": [{"message": {"content": "yes"}}], "usage": usage}
    client = OpenAIClient(Endpoint(model="m", base_url="http://localhost/v1"), price=Price(input=1, output=1))
    spent = client._reply(json.dumps(content)).usage
    assert (spent.input_tokens, spent.output_tokens, spent.cost) == (0, 0, 0.0)


def test_usage_is_counted(endpoint: FaultEndpoint) -> None:
    score = judged(endpoint, "500-once", "create_faithfulness_scorer")
    assert score.judge is not None
    assert list(score.judge) == ["preprocess", "analyze", "generate_reason"]
    usage = score.judge["analyze"]
    assert (usage.model, usage.calls, usage.attempts, usage.cached) == ("500-once", 1, 2, 0)
    assert (usage.input_tokens, usage.output_tokens) == (10, 5)
    assert usage.duration_ms > 0


def test_nobody_listens() -> None:
    judge = Judge("ok", base_url="http://127.0.0.1:9/v1", retries=0)
    score = scorers.create_rubric_scorer(judge, criteria="Is polite.").run_sync(museum_run())
    assert score.error is not None
    assert "can't be reached" in score.error.message


def test_connections_are_closed_at_the_end_of_the_program(endpoint: FaultEndpoint) -> None:
    program = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from judge_answers import museum_run
from referee import scorers
from referee.judge import Judge
judge = Judge("ok", base_url={endpoint.base_url!r})
scorer = scorers.create_rubric_scorer(judge, criteria="Is polite.")
assert asyncio.run(scorer.run(museum_run())).score == 1.0
assert scorer.run_sync(museum_run()).score == 1.0
"""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    # On a busy machine asyncio's development mode tells of slow steps too.
    told = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]
    assert (done.returncode, told) == (0, [])


def test_one_judge_works_in_several_loops(endpoint: FaultEndpoint) -> None:
    judge = Judge("ok", base_url=endpoint.base_url)
    scorer = scorers.create_rubric_scorer(judge, criteria="Is polite.")
    for _ in range(2):
        assert asyncio.run(scorer.run(museum_run())).score == 1.0
        assert scorer.run_sync(museum_run()).score == 1.0


def test_the_first_failure_of_a_free_question_is_an_exception(endpoint: FaultEndpoint) -> None:
    class Tone(msgspec.Struct):
        reason: str
        polite: bool

    with pytest.raises(EndpointError, match="401"):
        asyncio.run(Judge("401", base_url=endpoint.base_url).ask("Polite?", Tone))
