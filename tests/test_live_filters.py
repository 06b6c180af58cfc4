"""Filters: what qualifies, and what is refused when they are made."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import OptionError, checks
from referee.live import Live
from referee.live.filters import Facts, compile_filter

FACTS = Facts(
    context={
        "plan": "pro",
        "age": 41,
        "none": None,
        "zero": 0,
        "empty": "",
        "flag": True,
        "user": {"tier": 2, "name": "Ann"},
        "user.region": "north",
        "tags": ["a", "b"],
    },
    entity={"name": "weather", "version": 3},
    source="live",
    thread_id="t-1",
)


def path(name: str) -> dict[str, Any]:
    return {"path": name}


def literal(value: Any) -> dict[str, Any]:
    return {"literal": value}


def compare(op: str, name: str, value: Any) -> dict[str, Any]:
    return {"op": op, "left": path(name), "right": literal(value)}


YES = {"op": "exists", "path": "source"}
NO = {"op": "not_exists", "path": "source"}


@pytest.mark.parametrize(
    ("condition", "qualifies"),
    [
        (compare("eq", "context.plan", "pro"), True),
        (compare("eq", "context.plan", "free"), False),
        (compare("eq", "context.age", 41.0), True),
        (compare("eq", "context.flag", 1), False),
        (compare("eq", "context.none", None), True),
        (compare("eq", "context.missing", None), False),
        (compare("ne", "context.plan", "free"), True),
        (compare("ne", "context.missing", "free"), False),
        (compare("lt", "context.age", 42), True),
        (compare("lt", "context.age", 41), False),
        (compare("lte", "context.age", 41), True),
        (compare("gt", "context.age", 40), True),
        (compare("gte", "context.age", 42), False),
        (compare("gt", "context.age", "4"), False),
        (compare("lt", "context.age", "4"), False),
        (compare("gt", "context.flag", 0), False),
        (compare("lt", "context.plan", "q"), True),
        (compare("gt", "context.missing", 0), False),
        ({"op": "eq", "left": literal("weather"), "right": path("entity.name")}, True),
        ({"op": "eq", "left": literal(1), "right": literal(1)}, True),
        ({"op": "in", "value": path("context.plan"), "set": ["free", "pro"]}, True),
        ({"op": "in", "value": path("context.age"), "set": [41.0]}, True),
        ({"op": "in", "value": path("context.plan"), "set": ["free"]}, False),
        ({"op": "in", "value": path("context.missing"), "set": [None]}, False),
        ({"op": "not_in", "value": path("context.plan"), "set": ["free"]}, True),
        ({"op": "not_in", "value": path("context.missing"), "set": ["free"]}, True),
        ({"op": "exists", "path": "context.none"}, True),
        ({"op": "exists", "path": "context.missing"}, False),
        ({"op": "exists", "path": "thread_id"}, True),
        ({"op": "not_exists", "path": "entity.owner"}, True),
        ({"op": "truthy", "value": path("context.flag")}, True),
        ({"op": "truthy", "value": path("context.zero")}, False),
        ({"op": "truthy", "value": path("context.tags")}, True),
        ({"op": "truthy", "value": path("context.missing")}, False),
        ({"op": "falsy", "value": path("context.empty")}, True),
        ({"op": "falsy", "value": path("context.missing")}, True),
        ({"op": "falsy", "value": literal(1)}, False),
        ({"op": "and", "args": [YES, YES]}, True),
        ({"op": "and", "args": [YES, NO]}, False),
        ({"op": "or", "args": [NO, YES]}, True),
        ({"op": "or", "args": [NO]}, False),
        ({"op": "not", "arg": NO}, True),
        (compare("eq", "context.user.tier", 2), True),
        (compare("eq", "context.user.region", "north"), True),
        (compare("eq", "context.user.name.first", "Ann"), False),
        (compare("eq", "source", "live"), True),
        (compare("eq", "thread_id", "t-1"), True),
    ],
)
def test_what_qualifies(condition: Any, qualifies: bool) -> None:
    assert compile_filter(condition, "filter")(FACTS) is qualifies


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (
            compare("eq", "contxt.plan", 1),
            r"scorers\.a\.filter\.left\.path: there is no path 'contxt\.plan'; the paths are",
        ),
        (compare("eq", "requestContext.plan", 1), "context.NAME, entity.NAME, source, thread_id"),
        (compare("eq", "context", 1), "there is no path 'context'"),
        (compare("eq", "context.", 1), r"there is no path 'context\.'"),
        (compare("eq", "source.name", 1), "there is no path"),
        (compare("eq", "input", 1), "there is no path"),
        ({"op": "exists", "path": 3}, "there is no path 3"),
        ({"op": "like", "value": path("source")}, "expected .*eq, ne, lt"),
        ({"op": "notIn", "value": path("source"), "set": [1]}, "not_in"),
        ({"op": ["eq"]}, "expected"),
        ("context.plan == 'pro'", "expected"),
        ({"op": "eq", "left": path("source")}, "eq takes left and right, not left"),
        ({"op": "eq", "left": path("source"), "right": literal(1), "extra": 1}, "eq takes left and right"),
        ({"op": "eq", "left": "source", "right": literal(1)}, r"filter\.left: expected \{\"path\""),
        ({"op": "eq", "left": {"path": "source", "literal": 1}, "right": literal(1)}, r"filter\.left: expected"),
        ({"op": "in", "value": path("source"), "set": []}, r"filter\.set: expected a list with at least one value"),
        ({"op": "in", "value": path("source"), "set": "live"}, r"filter\.set: expected a list"),
        ({"op": "and", "args": []}, r"filter\.args: expected a list"),
        (
            {"op": "or", "args": [YES, {"op": "not", "arg": compare("eq", "nope", 1)}]},
            r"filter\.args\[1\]\.arg\.left\.path",
        ),
    ],
)
def test_a_wrong_filter_is_refused_when_it_is_made(condition: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Live({"a": {"scorer": checks.includes("x"), "filter": condition}})


SCALARS = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 2.0]) | st.sampled_from(["", "a", "b"])
ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "lt": operator.lt,
    "lte": operator.le,
    "gt": operator.gt,
    "gte": operator.ge,
}


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@given(left=SCALARS, right=SCALARS)
def test_order_and_equality_follow_their_definitions(left: Any, right: Any) -> None:
    def holds(op: str) -> bool:
        return compile_filter({"op": op, "left": path("context.x"), "right": literal(right)}, "f")(
            Facts(context={"x": left})
        )

    alike = (is_number(left) and is_number(right)) or type(left) is type(right)
    assert holds("eq") is (alike and left == right)
    assert holds("ne") is not holds("eq")
    ordered = (is_number(left) and is_number(right)) or (isinstance(left, str) and isinstance(right, str))
    for op, order in ORDERS.items():
        assert holds(op) is (ordered and order(left, right))


CONDITIONS = st.recursive(
    st.sampled_from([YES, NO]),
    lambda inner: (
        st.builds(lambda arg: {"op": "not", "arg": arg}, inner)
        | st.builds(
            lambda op, args: {"op": op, "args": args}, st.sampled_from(["and", "or"]), st.lists(inner, min_size=1)
        )
    ),
    max_leaves=8,
)


def truth(condition: Any) -> bool:
    if condition["op"] == "not":
        return not truth(condition["arg"])
    if condition["op"] == "and":
        return all(map(truth, condition["args"]))
    if condition["op"] == "or":
        return any(map(truth, condition["args"]))
    return bool(condition == YES)


@given(CONDITIONS)
def test_composition_is_logic(condition: Any) -> None:
    assert compile_filter(condition, "f")(FACTS) is truth(condition)
