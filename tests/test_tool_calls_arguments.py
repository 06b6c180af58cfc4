"""The differences of arguments are exactly the places where two JSON values differ, for any values."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from referee.expectations import ExpectedCall
from referee.expectations.comparison import Comparison
from referee.expectations.paths import find, parse_path
from referee.jsonvalue import equal, key
from referee.messages import ToolCall

NAMES = st.sampled_from(["a", "b", "odd.name", 'q"[0]', "", " "])
SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, "", "a", "1"])
values = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=3)),
    max_leaves=8,
)
arguments = st.dictionaries(NAMES, values, max_size=3)


def at(value: Any, path: str) -> Any:
    [(where, found)] = find(value, parse_path(path))
    assert where == path
    return found


@given(values, values)
def test_keys_are_equal_where_values_are(left: Any, right: Any) -> None:
    assert (key(left) == key(right)) == equal(left, right)
    assert hash(key(left)) == hash(key(left))


@given(arguments, arguments)
def test_differences_are_where_the_values_differ(expected: dict[str, Any], actual: dict[str, Any]) -> None:
    call, wanted, comparison = ToolCall("t", actual), ExpectedCall("t", expected), Comparison()
    differences = list(comparison.differences(wanted, call))
    assert comparison.fits(wanted, call) == (not differences) == equal(expected, actual)
    assert len({difference.path for difference in differences}) == len(differences)
    for difference in differences:
        if difference.change != "unexpected":
            assert at(expected, difference.path) is difference.expected
        if difference.change != "missing":
            assert at(actual, difference.path) is difference.actual
        if difference.change == "changed":
            assert not equal(difference.expected, difference.actual)
        assert "\n" not in difference.to_text()


@given(arguments, arguments)
def test_what_is_equal_is_a_subset_and_a_subset_has_no_surplus(
    expected: dict[str, Any], actual: dict[str, Any]
) -> None:
    call, wanted = ToolCall("t", actual), ExpectedCall("t", expected)
    exact = list(Comparison().differences(wanted, call))
    subset = list(Comparison("subset").differences(wanted, call))
    assert set(map(repr, subset)) <= set(map(repr, exact))
    left_out = [difference for difference in exact if difference not in subset]
    assert all(difference.change == "unexpected" for difference in left_out)
