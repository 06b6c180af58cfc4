"""Scorers from plain data and from words of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from referee import OptionError, Run, checks, load_scorer, scorers
from referee.loading import load_scorers_file, parse_scorer, scorer_names, short_name
from referee.testing import create_agent_test_run


@pytest.mark.parametrize(
    ("spec", "same"),
    [
        ("checks.no_tool_errors", checks.no_tool_errors()),
        ({"checks.includes": {"expected": "sunny"}}, checks.includes("sunny")),
        ({"checks.includes": "sunny"}, checks.includes("sunny")),
        ({"checks.tool_order": [["a", "b"]]}, checks.tool_order(["a", "b"])),
        ({"checks.used_no_tools": {}}, checks.used_no_tools()),
        ({"tool_call_accuracy_code": {"expected_tool": "x"}}, scorers.create_tool_call_accuracy_scorer_code("x")),
        ({"create_tool_call_accuracy_scorer_code": "x"}, scorers.create_tool_call_accuracy_scorer_code("x")),
        (checks.includes("sunny"), checks.includes("sunny")),
    ],
)
def test_plain_data_names_a_scorer(spec: Any, same: Any) -> None:
    loaded = load_scorer(spec)
    assert (loaded.id, loaded.version) == (same.id, same.version)


@pytest.mark.parametrize(
    "scorer",
    [
        checks.includes("a", scope="final"),
        checks.matches({"pattern": "a", "flags": "i"}),
        checks.called_tool("x", 2, id="mine"),
    ],
)
def test_a_scorer_comes_back_from_its_own_specification(scorer: Any) -> None:
    back = load_scorer(scorer.spec)
    assert (back.id, back.version) == (scorer.id, scorer.version)


@pytest.mark.parametrize(
    ("word", "same"),
    [
        ("checks.includes=sunny", checks.includes("sunny")),
        ("checks.includes=72", checks.includes("72")),
        ("checks.includes=a=b", checks.includes("a=b")),
        ('checks.includes={"expected": "x", "ignore_case": false}', checks.includes("x", ignore_case=False)),
        ('checks.tool_order=["a", "b"]', checks.tool_order(["a", "b"])),
        ("checks.max_tool_calls=3", checks.max_tool_calls(3)),
        ("checks.no_tool_errors", checks.no_tool_errors()),
        (r"checks.matches=[A-Z]{3}-\d", checks.matches(r"[A-Z]{3}-\d")),
    ],
)
def test_a_word_of_the_command_line_names_a_scorer(word: str, same: Any) -> None:
    assert parse_scorer(word).version == same.version


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("checks.include", "did you mean checks.includes"),
        ("completenes", "did you mean"),
        ("nonsense-xyz", "referee scorers"),
        ({"checks.includes": {"needle": "x"}}, "it has no option 'needle'; its options are"),
        ({"checks.includes": {"expect": "x"}}, "it has no option 'expect'; did you mean 'expected'"),
        ({"checks.includes": {}}, "expected"),
        ({"checks.max_tool_calls": {"max": "three"}}, "whole number"),
        ({"a": {}, "b": {}}, "one name"),
        (7, "a scorer is"),
        ("no_such_module:f", "can't be imported"),
        ("json:no_such", "has no 'no_such'"),
    ],
)
def test_a_wrong_specification_is_one_clear_line(spec: Any, message: str) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        load_scorer(spec)
    assert "\n" not in str(caught.value)


def test_ones_own_scorers_are_found_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_scorers_for_test.py").write_text(
        "from referee import create_scorer\n"
        "def polite(run):\n    return True\n"
        "ready = create_scorer(id='ready').generate_score(lambda run: 0.5)\n"
        "def factory(level=1):\n    return create_scorer(id=f'made-{level}').generate_score(lambda run: 1.0)\n"
    )
    monkeypatch.chdir(tmp_path)
    assert load_scorer("own_scorers_for_test:polite").run_sync(Run(id="r")).score == 1.0
    assert load_scorer("own_scorers_for_test:ready").run_sync(Run(id="r")).score == 0.5
    assert load_scorer("own_scorers_for_test:factory").id == "made-1"
    assert load_scorer({"own_scorers_for_test:factory": {"level": 3}}).id == "made-3"


def test_a_file_lists_scorers(tmp_path: Path) -> None:
    file = tmp_path / "scorers.yaml"
    file.write_text("scorers:\n  - checks.no_tool_errors\n  - checks.includes: {expected: sunny}\n")
    assert [scorer.id for scorer in load_scorers_file(file)] == ["check-no-tool-errors", "check-includes"]
    file.write_text("- checks.nothing\n")
    with pytest.raises(OptionError, match="scorer 1"):
        load_scorers_file(file)
    file.write_text("scorers: [")
    with pytest.raises(OptionError):
        load_scorers_file(file)
    file.write_text("a: b")
    with pytest.raises(OptionError, match="list of scorers"):
        load_scorers_file(file)
    with pytest.raises(OptionError):
        load_scorers_file(tmp_path / "none.yaml")


def test_every_name_is_explained() -> None:
    for name in scorer_names():
        from referee.loading import factory_of

        assert factory_of(name).__doc__, name
    assert short_name("create_bias_scorer") == "bias"


def test_wrong_options_are_told_without_quotes_around_types() -> None:
    with pytest.raises(OptionError, match=r"its options are \(expected: str, ignore_case: bool = True, \*, scope"):
        load_scorer("checks.includes")
    with pytest.raises(OptionError, match="its options are given by name"):
        load_scorer({"checks.max_length": 10})


def test_joined_checks_take_a_list_on_the_command_line() -> None:
    joined = parse_scorer('checks.all_of=["checks.no_tool_errors", {"checks.includes": {"expected": "sunny"}}]')
    assert joined.id == "check-all-of"
    assert joined.run_sync(create_agent_test_run(output="It is sunny.")).score == 1.0
