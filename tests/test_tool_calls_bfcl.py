"""The 114 BFCL questions: stated answers score 1, and each systematic mutation scores as it should.

`TABLE` says, for each mutation, to how many questions it applies and how each of them scores.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from referee import Run, checks
from referee.expectations import bfcl_calls
from referee.messages import Message, ToolCall
from support import need_traces

#: Names of positional parameters in the answers to conversations.
PARAMETERS = {"sort": ["file_name"]}

#: What a mutation makes of the stated calls and their expectations; `None` where it does not apply.
Calls = list[ToolCall]
Mutation = Callable[[Calls, list[Any]], Calls | None]


def questions() -> list[dict[str, Any]]:
    path = need_traces() / "bfcl_114_questions_with_answers.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def single_turn() -> list[dict[str, Any]]:
    """The questions that are answered by calls in one turn."""
    return [question for question in questions() if isinstance((question.get("possible_answer") or [None])[0], dict)]


def run_with(calls: Calls) -> Run:
    return Run(id="r", output=[Message("assistant", list(calls))])


def stated(allowed: Any, *, optional: bool = True) -> Any:
    """The first allowed value of every argument; without `optional` those that may be absent are."""
    args = {}
    for name, options in allowed.items():
        values = [value for value in options if value != ""]
        if values and (optional or "" not in options):
            value = values[0]
            args[name] = stated(value) if isinstance(value, dict) else value
    return args


def stated_calls(question: dict[str, Any], *, optional: bool = True) -> Calls:
    return [
        ToolCall(name, stated(allowed, optional=optional), state="result")
        for answer in question["possible_answer"]
        for name, allowed in answer.items()
    ]


def with_args(calls: Calls, args: dict[str, Any]) -> Calls:
    """The calls with other arguments in the first one."""
    return [ToolCall(calls[0].name, args, state="result"), *calls[1:]]


def with_first(calls: Calls, kind: Callable[[Any], bool], change: Callable[[Any], Any]) -> Calls | None:
    """Change the first argument of this kind of the first call."""
    for name, value in calls[0].args.items():
        if kind(value):
            return with_args(calls, {**calls[0].args, name: change(value)})
    return None


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def wrong_name(calls: Calls, answer: list[Any]) -> Calls:
    return [ToolCall(f"{calls[0].name}_v2", calls[0].args, state="result"), *calls[1:]]


def missing_argument(calls: Calls, answer: list[Any]) -> Calls | None:
    [allowed] = answer[0].values()
    name = next((name for name in calls[0].args if "" not in allowed[name]), None)
    return name and with_args(calls, {key: value for key, value in calls[0].args.items() if key != name})


def extra_argument(calls: Calls, answer: list[Any]) -> Calls:
    return with_args(calls, {**calls[0].args, "unasked": 1})


def value_outside(calls: Calls, answer: list[Any]) -> Calls | None:
    return with_first(calls, lambda value: True, lambda value: "@ nothing that is allowed @")


def swapped_order(calls: Calls, answer: list[Any]) -> Calls | None:
    return calls[::-1] if len(calls) > 1 else None


def duplicated_call(calls: Calls, answer: list[Any]) -> Calls:
    return [*calls, calls[0]]


def missing_call(calls: Calls, answer: list[Any]) -> Calls | None:
    return calls[:-1] if len(calls) > 1 else None


def number_as_text(calls: Calls, answer: list[Any]) -> Calls | None:
    return with_first(calls, is_number, str)


def whole_as_float(calls: Calls, answer: list[Any]) -> Calls | None:
    return with_first(calls, lambda value: is_number(value) and isinstance(value, int), float)


def boolean_as_number(calls: Calls, answer: list[Any]) -> Calls | None:
    return with_first(calls, lambda value: isinstance(value, bool), int)


def other_key_order(calls: Calls, answer: list[Any]) -> Calls:
    def turned(value: Any) -> Any:
        return {key: turned(value[key]) for key in reversed(value)} if isinstance(value, dict) else value

    return [ToolCall(call.name, turned(call.args), state="result") for call in calls]


def other_element_order(calls: Calls, answer: list[Any]) -> Calls | None:
    return with_first(calls, lambda value: isinstance(value, list) and value != value[::-1], lambda value: value[::-1])


def other_case(calls: Calls, answer: list[Any]) -> Calls | None:
    return with_first(calls, lambda value: isinstance(value, str) and value != value.swapcase(), str.swapcase)


#: How a question with `n` calls scores.
NOTHING, ALL = "0", "1"
ALL_BUT_ONE, ONLY_ONE = "(n - 1) / n", "1 / n"
SCORE: dict[str, Callable[[int], float]] = {
    NOTHING: lambda n: 0.0,
    ALL: lambda n: 1.0,
    ALL_BUT_ONE: lambda n: (n - 1) / n,
    ONLY_ONE: lambda n: 1 / n,
}

#: Each mutation, the questions it applies to, and the score of each with: any order, no other calls (the benchmark's
#: own rule); any order, other calls allowed; in order, other calls allowed.
TABLE: list[tuple[Mutation, int, str, str, str]] = [
    (wrong_name, 101, NOTHING, ALL_BUT_ONE, ALL_BUT_ONE),
    (missing_argument, 101, NOTHING, ALL_BUT_ONE, ALL_BUT_ONE),
    (extra_argument, 101, NOTHING, ALL_BUT_ONE, ALL_BUT_ONE),
    (value_outside, 101, NOTHING, ALL_BUT_ONE, ALL_BUT_ONE),
    (swapped_order, 46, ALL, ALL, ONLY_ONE),
    (duplicated_call, 101, NOTHING, ALL, ALL),
    (missing_call, 46, NOTHING, ALL_BUT_ONE, ALL_BUT_ONE),
    (number_as_text, 67, NOTHING, ALL_BUT_ONE, ALL_BUT_ONE),
    (whole_as_float, 57, ALL, ALL, ALL),
    (boolean_as_number, 7, NOTHING, ALL_BUT_ONE, ALL_BUT_ONE),
    (other_key_order, 101, ALL, ALL, ALL),
    (other_element_order, 5, NOTHING, ALL_BUT_ONE, ALL_BUT_ONE),
    (other_case, 64, NOTHING, ALL_BUT_ONE, ALL_BUT_ONE),
]
WAYS: list[dict[str, Any]] = [
    {"order": "any", "extra": "forbid"},
    {"order": "any", "extra": "allow"},
    {"order": "subsequence", "extra": "allow"},
]
#: Where the mutated value is an allowed one too: this answer lists its columns in both orders.
STILL_ALLOWED = {("other_element_order", "multiple_10")}


def score_of(answer: list[Any], calls: Calls, **options: Any) -> float:
    options = {"order": "any", "extra": "forbid", **options}
    score = checks.tool_calls(bfcl_calls(answer), **options).run_sync(run_with(calls))
    assert score.score is not None, score
    assert score.score == 1 or "\n" in (score.reason or "")
    return score.score


def test_every_question_is_used() -> None:
    kinds = [len(single_turn()), 0, 0]
    for question in questions():
        kinds[1] += "possible_answer" not in question
        kinds[2] += question["category"].startswith("multi_turn")
    assert kinds == [101, 10, 3]
    assert len(questions()) == 114


@pytest.mark.parametrize("optional", [True, False])
def test_stated_answers_score_1(optional: bool) -> None:
    for question in single_turn():
        calls = stated_calls(question, optional=optional)
        for order in ("any", "subsequence", "exact"):
            assert score_of(question["possible_answer"], calls, order=order) == 1, question["id"]


def test_questions_that_need_no_call() -> None:
    for question in questions():
        if "possible_answer" not in question:
            assert score_of([], []) == 1
            assert score_of([], [ToolCall(question["function"][0]["name"], {})]) == 0


def test_conversations_turn_by_turn() -> None:
    turns = [
        bfcl_calls(turn, parameters=PARAMETERS)
        for question in questions()
        if question["category"].startswith("multi_turn")
        for turn in question["possible_answer"]
    ]
    assert len(turns) == 13
    assert turns[0] == [
        {"name": "cd", "args": {"folder": "document"}},
        {"name": "mkdir", "args": {"dir_name": "temp"}},
        {"name": "mv", "args": {"source": "final_report.pdf", "destination": "temp"}},
    ]
    assert turns[2] == [{"name": "sort", "args": {"file_name": "final_report.pdf"}}]
    for turn in turns:
        calls = [ToolCall(entry["name"], entry["args"]) for entry in turn]
        scorer = checks.tool_calls(turn, order="exact", extra="forbid")
        assert scorer.run_sync(run_with(calls)).score == 1
        assert scorer.run_sync(run_with(calls[:-1])).score == 0


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0].__name__)
def test_mutations(row: tuple[Mutation, int, str, str, str]) -> None:
    mutation, applicable, *rules = row
    applied = 0
    for question in single_turn():
        answer = question["possible_answer"]
        calls = mutation(stated_calls(question), answer)
        if calls is None:
            continue
        applied += 1
        for way, rule in zip(WAYS, rules, strict=True):
            wanted = 1.0 if (mutation.__name__, question["id"]) in STILL_ALLOWED else SCORE[rule](len(answer))
            assert score_of(answer, calls, **way) == wanted, (question["id"], way)
    assert applied == applicable


@pytest.mark.parametrize(
    ("mutation", "matcher"),
    [
        (number_as_text, "coerce"),
        (boolean_as_number, "coerce"),
        (other_element_order, "unordered_list"),
        (other_case, "ignore_case"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_matchers_forgive_what_they_say(mutation: Mutation, matcher: str) -> None:
    for question in single_turn():
        calls = mutation(stated_calls(question), question["possible_answer"])
        if calls is not None:
            matchers = {name: matcher for call in calls for name in call.args}
            assert score_of(question["possible_answer"], calls, matchers=matchers) == 1, question["id"]
