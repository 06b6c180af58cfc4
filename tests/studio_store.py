"""Stores for the tests of the Studio: an ordinary one, and one in which every text is hostile."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from referee import Message, Run, Score, Text, ToolCall, checks
from referee.bounds import Bounds
from referee.messages import File, Opaque, Reasoning, ToolResult
from referee.results import Evaluation
from referee.scores import JudgeUsage, StepError, Unscored
from referee.storage.scored_runs import ScoredRun
from referee.storage.store import Store

ITEMS = 120
HOSTILE = (
    "<script>alert(1)</script><svg onload=alert(1)><img src=x onerror=alert(1)> \" ' & {{ 7*7 }} {% raw %} "
    "javascript:alert(1) https://evil.example/ \x00 \x1b[31m \x1b]0;title\x07 \u202e back \u2066 \ud800 \ufffe ]]> =1+1"
)
LONG = "<script>alert(2)</script>" * 200_000  # 5 MB


def ordinary(path: Path) -> Store:
    """Two experiments of the same name, the second one worse, and some live scores."""
    store = Store(path)
    tools = checks.tool_calls()
    for name, drop, verdict in (("nightly-1", 0.1, "passed"), ("nightly-2", 0.5, "failed")):
        evaluation = Evaluation(id=name, name="nightly", items={f"item-{place:03d}": 1 for place in range(ITEMS)})
        key = store.experiments.begin(evaluation)
        chance = random.Random(name)
        store.save(
            [_scored(name, place, drop, chance, tools) for place in range(ITEMS)], experiment=key, scorers=[tools]
        )
        store.experiments.end(key, status="finished", verdict=verdict)
    live = Run(id="live-1", input=[Message("user", [Text("Hello?")])], thread_id="thread-1", trace_id="trace-1")
    store.save([ScoredRun(run=live, scores=[Score("live-1", "tone", 0.5)])], experiment="live")
    return store


def _scored(name: str, place: int, drop: float, chance: random.Random, tools: Any) -> ScoredRun:
    item = f"item-{place:03d}"
    if place == 7:
        return ScoredRun(run=Run(id=f"{name}-{item}"), item=item, error="target: ConnectionError: the agent is down")
    is_lost = chance.random() < drop
    call = ToolCall(name="ferries", args={"to": item, "on": {"day": 3}}, state="result", result={"hours": [9, 14]})
    answer = "I do not know." if is_lost else "The ferry leaves at nine."
    run = Run(
        id=f"{name}-{item}",
        input=[Message("user", [Text(f"When does the ferry of {item} leave?")])],
        output=[Message("assistant", [*([] if is_lost else [call]), Text(answer)])],
        expected_tool_calls=[{"name": "ferries", "args": {"to": item, "on": {"day": 3}}}],
        model="agent-1",
    )
    judged = Score(
        run.id,
        "relevancy",
        round(chance.random() * (0.4 if is_lost else 1), 2),
        "the answer names the hour",
        scorer_version="v1",
        analyze_prompt="Is the hour named?",
        analyze_step_result={"results": [{"result": "yes"}]},
        judge={"analyze": JudgeUsage("judge-1", 1, 1, 0, 900, 60, 0.0004, 700.0)},
    )
    odd = Score(run.id, "odd", 1.0)
    if place % 10 == 1:
        odd = Score(run.id, "odd", error=StepError("analyze", "UnreadableReplyError", "no JSON", raw_reply="I think"))
    elif place % 10 == 2:
        odd = Score(run.id, "odd", not_scorable=Unscored("preprocess", "there is no tool result"))
    turns = {0: [Score(run.id, "tone", 3.0, range=(1.0, 5.0))]} if place < 3 else {}
    return ScoredRun(
        run=run,
        item=item,
        tags=["long"] if place % 4 == 0 else [],
        scores=[tools.run_sync(run), judged, odd],
        turn_scores=turns,
        bounds={"relevancy": Bounds(min=0.3)},
    )


def hostile(path: Path) -> Store:
    """Every place that content can come from, filled with hostile text, in two experiments."""
    store = Store(path)
    for number in range(2):
        evaluation = Evaluation(id=f"{HOSTILE}{number}", name=HOSTILE, items={HOSTILE: 1, "long": 1, "deep": 1})
        key = store.experiments.begin(evaluation, target=HOSTILE)
        store.save(_hostile_runs(number), experiment=key)
        store.experiments.end(key, status="finished", verdict="failed")
    return store


def _hostile_runs(number: int) -> list[ScoredRun]:
    deep: Any = []
    for _ in range(10_000):
        deep = [deep]
    nested: Any = HOSTILE
    for _ in range(150):
        nested = {HOSTILE: [nested]}
    listed = [_hostile_run(f"{HOSTILE}{number}", HOSTILE, number)]
    for item, value in (("long", LONG), ("deep", deep), ("nested", nested), ("text", "[" * 10_000 + "]" * 10_000)):
        run = Run(
            id=f"{item}{number}",
            input=[Message("user", [Text(LONG if item == "long" else item)])],
            output=[Message("assistant", [ToolCall(name=item, args={"value": value}, state="result", result=value)])],
            metadata={"value": value},
        )
        reason = LONG if item == "long" else HOSTILE
        score = Score(run.id, HOSTILE, 0.5 - number / 4, reason, analyze_step_result=value, analyze_prompt=reason)
        listed.append(ScoredRun(run=run, item=item, scores=[score]))
    failed = ScoredRun(run=Run(id=f"f{number}"), item="target failed", error=HOSTILE)
    return [*listed, failed]


def _hostile_run(id: str, item: str, number: int) -> ScoredRun:
    call = ToolCall(
        name=HOSTILE,
        args={HOSTILE: HOSTILE, "list": [HOSTILE]},
        state="error",
        error=HOSTILE,
        id=HOSTILE,
        agent_path=(HOSTILE,),
    )
    parts = [
        Text(HOSTILE * (number + 1)),
        Reasoning(HOSTILE),
        call,
        ToolResult(HOSTILE, name=HOSTILE),
        File(HOSTILE, HOSTILE, "data:text/html,<script>alert(1)</script>"),
        Opaque(HOSTILE, {HOSTILE: HOSTILE}),
    ]
    run = Run(
        id=id,
        system=[Message("system", [Text(HOSTILE)])],
        history=[Message("user", [Text(HOSTILE)], name=HOSTILE)],
        input=[Message("user", [Text(HOSTILE)])],
        output=[Message("assistant", parts, name=HOSTILE)],
        ground_truth=HOSTILE,
        context={HOSTILE: HOSTILE},
        metadata={HOSTILE: HOSTILE},
        thread_id=HOSTILE,
        trace_id=HOSTILE,
        model=HOSTILE,
        warnings=[HOSTILE],
    )
    diff = {
        "lines": [
            {
                "change": "changed",
                "name": HOSTILE,
                "place": 0,
                "call": 0,
                "expected": [{"name": HOSTILE, "args": {HOSTILE: HOSTILE}}],
                "args": {HOSTILE: HOSTILE},
                "arguments": [{"path": HOSTILE, "change": "changed", "expected": HOSTILE, "actual": HOSTILE}],
            }
        ],
        "expected": 1,
        "matched": 0,
        "called": 1,
    }
    usage = {"analyze": JudgeUsage(HOSTILE, 1, 1)}
    scores = [
        Score(run.id, HOSTILE, number / 2, HOSTILE, scorer_version=HOSTILE, analyze_step_result=diff, judge=usage),
        Score(run.id, "error", error=StepError(HOSTILE, HOSTILE, HOSTILE, HOSTILE), details={HOSTILE: HOSTILE}),
        Score(run.id, "nothing", not_scorable=Unscored(HOSTILE, HOSTILE)),
        Score(run.id, "odd", 1.0, reason_error=StepError(HOSTILE, HOSTILE, HOSTILE)),
    ]
    return ScoredRun(run=run, item=item, tags=[HOSTILE], scores=scores)
