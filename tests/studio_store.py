"""Stores for the tests of the Studio: an ordinary one, and one in which every text is hostile."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from referee import Item, Message, Run, Score, Text, ToolCall, checks
from referee.bounds import Bounds
from referee.messages import File, Opaque, Reasoning, ToolResult
from referee.results import Evaluation
from referee.scores import JudgeUsage, StepError, Unscored
from referee.storage.filters import ScoreFilter
from referee.storage.jobs import JobPlan
from referee.storage.recorded_runs import RunFilter
from referee.storage.scored_runs import ScoredRun
from referee.storage.store import Store
from referee.trajectory import Step, Trajectory

ITEMS, LIVE_RUNS = 120, 160
HOSTILE = (
    "<script>alert(1)</script><svg onload=alert(1)><img src=x onerror=alert(1)> \" ' & {{ 7*7 }} {% raw %} "
    "javascript:alert(1) https://evil.example/ \x00 \x1b[31m \x1b]0;title\x07 \u202e back \u2066 \ud800 \ufffe ]]> =1+1"
)
LONG = "<script>alert(2)</script>" * 200_000  # 5 MB


def ordinary(path: Path) -> Store:
    """Two experiments on one data set, the second one worse; live traffic, labels, and a job that was cancelled."""
    store = Store(path)
    tools = checks.tool_calls()
    _add_dataset(store)
    number = store.datasets.get("ferries").number
    for name, drop, verdict in (("nightly-1", 0.1, "passed"), ("nightly-2", 0.5, "failed")):
        evaluation = Evaluation(id=name, name="nightly", items={f"item-{place:03d}": 1 for place in range(ITEMS)})
        key = store.experiments.begin(evaluation, dataset=number, dataset_version=2)
        chance = random.Random(name)
        store.save(
            [_scored(name, place, drop, chance, tools) for place in range(ITEMS)], experiment=key, scorers=[tools]
        )
        store.experiments.end(key, status="finished", verdict=verdict)
    _add_live(store)
    _add_labels(store)
    store.jobs.add(JobPlan(where=RunFilter(experiment="nightly-1"), scorers=["checks.no_tool_errors"]), total=ITEMS - 1)
    return store


def _add_dataset(store: Store) -> None:
    name = store.datasets.create("ferries", "when ferries leave").name
    items = [Item(id=f"item-{place:03d}", input=f"Ferry {place}?", tags=["long"]) for place in range(ITEMS + 5)]
    store.datasets.put(name, items, note="the first items")
    changed = [Item(id=item.id, input="When does it leave?", ground_truth="At nine.") for item in items[:3]]
    store.datasets.put(name, [*changed, Item(id="new", input="And back?")], note="clearer questions")
    store.datasets.remove(name, [item.id for item in items[ITEMS:]], note="not asked any more")
    store.datasets.pin("ferries@2", "release")


def _add_live(store: Store) -> None:
    """Twenty days, in which a scorer changes its version once; the last run has a trajectory."""
    chance = random.Random("live")
    first = datetime(2026, 11, 1, 12, tzinfo=UTC)
    runs = []
    for place in range(LIVE_RUNS):
        day = place * 20 // LIVE_RUNS
        name, at = f"live-{place}", (first + timedelta(days=day)).isoformat()
        run = Run(
            id=name, input=[Message("user", [Text("Hello?")])], thread_id="thread-1", trace_id="trace-1", started_at=at
        )
        value = min(1.0, max(0.0, chance.gauss(0.8 if day < 12 else 0.6, 0.15)))
        tone = Score(name, "tone", value, scorer_version="v1" if day < 12 else "v2")
        safe = (
            Score(name, "safe", error=StepError("analyze", "TimeoutError", "no reply"))
            if place % 9 == 0
            else Score(name, "safe", 1.0)
        )
        runs.append(ScoredRun(run=run, scores=[tone, safe]))
    search = Step(
        name="search", step_type="tool_call", fields={"tool_args": {"q": "ferry"}, "success": True}, duration_ms=400
    )
    model = Step(name="agent-1", step_type="model_generation", duration_ms=900)
    failed = Step(name="book", step_type="tool_call", fields={"success": False}, duration_ms=150)
    whole = Step(name="ask the ferry agent", step_type="agent_run", duration_ms=1450, children=[search, model, failed])
    said = [Message("user", [Text("Hello?")])], [Message("assistant", [Text("Hello! Where do you go?")])]
    run = Run(
        id="live-last", input=said[0], output=said[1], trajectory=Trajectory(steps=[whole], total_duration_ms=1450)
    )
    store.save(
        [*runs, ScoredRun(run=run, scores=[Score("live-last", "tone", 0.5, scorer_version="v2")])], experiment="live"
    )
    store.live.add_drops({("safe", "queue_full"): 12, ("tone", "deadline"): 1})


def _add_labels(store: Store) -> None:
    for place, row in enumerate(store.scores.page(ScoreFilter(scorer="relevancy"), limit=30).rows):
        value = float((row.value or 0) >= 0.4) if place % 6 else 0.5
        store.label(value, author="ann" if place % 3 else "ben", score=row.number, comment="it names the hour")


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
    _add_hostile_rest(store)
    return store


def _add_hostile_rest(store: Store) -> None:
    """Live traffic, a data set, labels and a job."""
    steps = [Step(name=HOSTILE, step_type=HOSTILE, fields={HOSTILE: HOSTILE}, duration_ms=5)]
    run = Run(id=f"{HOSTILE}live", input=[Message("user", [Text(HOSTILE)])], trajectory=Trajectory(steps=steps))
    store.save([ScoredRun(run=run, scores=[Score(run.id, HOSTILE, 0.5, scorer_version=HOSTILE)])], experiment="live")
    store.live.add_drops({(HOSTILE, HOSTILE): 3})
    name = store.datasets.create(HOSTILE, HOSTILE).name
    item = Item(id=HOSTILE, input=HOSTILE, ground_truth=[HOSTILE], tags=[HOSTILE], metadata={HOSTILE: HOSTILE})
    store.datasets.put(name, [item, Item(id="long", input=LONG)], note=HOSTILE)
    store.datasets.put(name, [Item(id=HOSTILE, input=f"{HOSTILE}?")], note=HOSTILE)
    store.datasets.pin(name, HOSTILE)
    for row in store.scores.page(ScoreFilter(at_least=0), limit=4).rows:
        store.label(row.value or 0, author=HOSTILE, score=row.number, comment=HOSTILE)
    plan = JobPlan(where=RunFilter(item=HOSTILE), scorers=[{HOSTILE: HOSTILE}], model=HOSTILE)
    number = store.jobs.add(plan, total=1)
    store.jobs.end(number, store.jobs.take(number), "failed", HOSTILE)


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
