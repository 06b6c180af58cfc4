"""Checks on the words of the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from referee.checks.check import FAILED, PASSED, check, require_text
from referee.display import quoted
from referee.errors import OptionError
from referee.jsonvalue import is_finite_number
from referee.patterns import FLAGS, compile_pattern, finder
from referee.pipeline import Scorer, Verdict
from referee.runs import Run, Scope
from referee.text import dice_with, fold, without_spaces

_SCOPES = ("all", "final")


def require_scope(name: str, scope: Scope) -> None:
    """Refuse a scope that is none.

    Raises:
        OptionError: It is neither `all` nor `final`.
    """
    if scope not in _SCOPES:
        raise OptionError(f"checks.{name}: scope must be 'all' or 'final', not {scope!r}")


def prepared(text: str, *, normalize: bool, ignore_case: bool) -> str:
    """A text as it is compared with an answer: folded like `Run.answer` folds it."""
    if normalize:
        text = fold(text)
    return text.casefold() if ignore_case else text


def includes(
    expected: str, ignore_case: bool = True, *, scope: Scope = "all", normalize: bool = True, id: str | None = None
) -> Scorer[None, None]:
    """The text contains `expected`. An empty string is contained in every text.

    Args:
        expected: What to look for.
        ignore_case: Fold case.
        scope: `all` assistant messages, or the `final` answer.
        normalize: Fold quotes, dashes, spaces and Unicode forms; `False` compares code points.
        id: Another id than `check-includes`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: `expected` is no string, or the scope is unknown.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> includes("sunny").run_sync(create_agent_test_run(output="It is Sunny.")).score
        1.0
    """
    require_scope("includes", scope)
    needle = prepared(require_text("includes", "expected", expected), normalize=normalize, ignore_case=ignore_case)
    shown = quoted(expected)
    passed: Verdict = (PASSED, f"the text contains {shown}")
    failed: Verdict = (FAILED, f"the text does not contain {shown}")

    def judge_run(run: Run) -> Verdict:
        return passed if needle in run.answer(scope, normalize=normalize, ignore_case=ignore_case) else failed

    options = {"expected": expected, "ignore_case": ignore_case, "scope": scope, "normalize": normalize}
    defaults = {"ignore_case": True, "scope": "all", "normalize": True}
    return check(
        "includes", judge_run, options=options, defaults=defaults, id=id, description=f"The answer contains {shown}."
    )


def excludes(
    unwanted: str, ignore_case: bool = True, *, scope: Scope = "all", normalize: bool = True, id: str | None = None
) -> Scorer[None, None]:
    """The text does not contain `unwanted`.

    Args:
        unwanted: What must not occur, also inside a longer word; for whole words use `matches` with `\\b`.
        ignore_case: Fold case.
        scope: `all` assistant messages, or the `final` answer.
        normalize: Fold quotes, dashes, spaces and Unicode forms.
        id: Another id than `check-excludes`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: `unwanted` is no string, or the scope is unknown.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> excludes("error").run_sync(create_agent_test_run(output="It is sunny.")).score
        1.0
    """
    require_scope("excludes", scope)
    needle = prepared(require_text("excludes", "unwanted", unwanted), normalize=normalize, ignore_case=ignore_case)
    shown = quoted(unwanted)
    passed: Verdict = (PASSED, f"the text does not contain {shown}")
    failed: Verdict = (FAILED, f"the text contains {shown}")

    def judge_run(run: Run) -> Verdict:
        return failed if needle in run.answer(scope, normalize=normalize, ignore_case=ignore_case) else passed

    options = {"unwanted": unwanted, "ignore_case": ignore_case, "scope": scope, "normalize": normalize}
    defaults = {"ignore_case": True, "scope": "all", "normalize": True}
    return check(
        "excludes",
        judge_run,
        options=options,
        defaults=defaults,
        id=id,
        description=f"The answer does not contain {shown}.",
    )


def equals(
    expected: str, ignore_case: bool = True, *, scope: Scope = "final", normalize: bool = True, id: str | None = None
) -> Scorer[None, None]:
    """The answer equals `expected` once both ends are stripped.

    Args:
        expected: The whole answer.
        ignore_case: Fold case.
        scope: The `final` answer, or `all` assistant messages.
        normalize: Fold quotes, dashes, spaces and Unicode forms.
        id: Another id than `check-equals`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: `expected` is no string, or the scope is unknown.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> equals("hello, world!").run_sync(create_agent_test_run(output=" Hello, world! ")).score
        1.0
    """
    require_scope("equals", scope)
    wanted = prepared(
        require_text("equals", "expected", expected), normalize=normalize, ignore_case=ignore_case
    ).strip()
    shown = quoted(expected)

    def judge_run(run: Run) -> Verdict:
        text = run.answer(scope, normalize=normalize, ignore_case=ignore_case).strip()
        if text == wanted:
            return PASSED, f"the answer is {shown}"
        return FAILED, f"expected {shown}, got {quoted(run.answer(scope, normalize=False, ignore_case=False))}"

    options = {"expected": expected, "ignore_case": ignore_case, "scope": scope, "normalize": normalize}
    defaults = {"ignore_case": True, "scope": "final", "normalize": True}
    return check("equals", judge_run, options=options, defaults=defaults, id=id, description=f"The answer is {shown}.")


def matches(
    pattern: str | re.Pattern[str] | Mapping[str, str],
    exact: bool = False,
    *,
    scope: Scope | None = None,
    id: str | None = None,
) -> Scorer[None, None]:
    """The regular expression is found in the text, as it is written (unfolded).

    Args:
        pattern: A string with inline flags, a compiled pattern, or `{"pattern": ..., "flags": "ims"}`, where other
            JavaScript flags are ignored.
        exact: The pattern must match the whole text.
        scope: `all` assistant messages; with `exact` the `final` answer unless given.
        id: Another id than `check-matches`.

    Returns:
        A scorer that gives 1 or 0; an error when the pattern works for more than a second on one text.

    Raises:
        OptionError: The pattern does not compile, or the scope is unknown.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> matches(r"\\d+°[FC]").run_sync(create_agent_test_run(output="72°F and clear")).score
        1.0
    """
    where: Scope = scope or ("final" if exact else "all")
    require_scope("matches", where)
    compiled = compile_pattern(pattern)
    is_found = finder(compiled, whole=exact)
    shown = f"/{compiled.pattern}/"
    goal = "the whole text matches" if exact else "the text matches"
    passed: Verdict = (PASSED, f"{goal} {shown}")
    failed: Verdict = (FAILED, f"{'the whole text does not match' if exact else 'the text does not match'} {shown}")

    def judge_run(run: Run) -> Verdict:
        return passed if is_found(run.answer(where, normalize=False, ignore_case=False)) else failed

    options = {"pattern": _plain_pattern(pattern), "exact": exact, "scope": where}
    defaults = {"exact": False, "scope": "final" if exact else "all"}
    return check(
        "matches", judge_run, options=options, defaults=defaults, id=id, description=f"The answer matches {shown}."
    )


def _plain_pattern(pattern: str | re.Pattern[str] | Mapping[str, str]) -> Any:
    if isinstance(pattern, re.Pattern):
        letters = "".join(letter for letter, flag in FLAGS.items() if pattern.flags & flag)
        return {"pattern": pattern.pattern, "flags": letters} if letters else pattern.pattern
    return dict(pattern) if isinstance(pattern, Mapping) else pattern


def similarity(
    expected: str,
    threshold: float | None = None,
    ignore_case: bool = True,
    *,
    scope: Scope = "final",
    normalize: bool = True,
    id: str | None = None,
) -> Scorer[None, None]:
    """How alike the answer and `expected` are: the Dice coefficient of their character pairs, white space left out.

    Args:
        expected: The text to compare with.
        threshold: With a threshold the score is 1 when the similarity reaches it, else 0.
        ignore_case: Fold case.
        scope: The `final` answer, or `all` assistant messages.
        normalize: Fold quotes, dashes, spaces and Unicode forms.
        id: Another id than `check-similarity`.

    Returns:
        A scorer that gives 0 to 1: `2 * shared pairs / (pairs + pairs)`; equal texts 1, a side of fewer than two
        characters 0.

    Raises:
        OptionError: `expected` is no string, the threshold is not in 0 to 1, or the scope is unknown.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> similarity("night", threshold=0.2).run_sync(create_agent_test_run(output="nacht")).score
        1.0
    """
    require_scope("similarity", scope)
    if threshold is not None and not (is_finite_number(threshold) and 0 <= threshold <= 1):
        raise OptionError(f"checks.similarity: threshold must be in 0 to 1, not {threshold!r}")
    wanted = without_spaces(
        prepared(require_text("similarity", "expected", expected), normalize=normalize, ignore_case=ignore_case)
    )
    alike = dice_with(wanted)

    def judge_run(run: Run) -> Verdict:
        text = run.answer(scope, normalize=normalize, ignore_case=ignore_case)
        # Folded text has no white space but plain spaces.
        value = alike(text.replace(" ", "") if normalize else without_spaces(text))
        if threshold is None:
            return value, f"similarity {value:.3f}"
        if value >= threshold:
            return PASSED, f"similarity {value:.3f} reaches {threshold:g}"
        return FAILED, f"similarity {value:.3f} is below {threshold:g}"

    options = {
        "expected": expected,
        "threshold": threshold,
        "ignore_case": ignore_case,
        "scope": scope,
        "normalize": normalize,
    }
    defaults = {"threshold": None, "ignore_case": True, "scope": "final", "normalize": True}
    return check(
        "similarity",
        judge_run,
        options=options,
        defaults=defaults,
        id=id,
        description=f"The answer is similar to {quoted(expected)}.",
    )
