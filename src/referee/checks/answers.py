"""Checks on the whole answer: one of several texts, its start, its end, its length."""

from __future__ import annotations

from collections.abc import Sequence

from referee.checks.check import FAILED, PASSED, check, require_count, require_text
from referee.checks.text import prepared, require_scope
from referee.display import quoted
from referee.errors import OptionError
from referee.pipeline import Scorer, Verdict
from referee.runs import Run, Scope

_DEFAULTS = {"ignore_case": True, "scope": "final", "normalize": True}
_MOST_SHOWN = 8


def one_of(
    expected: Sequence[str],
    ignore_case: bool = True,
    *,
    scope: Scope = "final",
    normalize: bool = True,
    id: str | None = None,
) -> Scorer[None, None]:
    """The answer equals one of these texts once both ends are stripped.

    Args:
        expected: The texts.
        ignore_case: Fold case.
        scope: The `final` answer, or `all` assistant messages.
        normalize: Fold quotes, dashes, spaces and Unicode forms; `False` compares code points.
        id: Another id than `check-one-of`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: `expected` is no list of texts or empty, or the scope is unknown.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> one_of(["yes", "no"]).run_sync(create_agent_test_run(output="Yes")).score
        1.0
    """
    require_scope("one_of", scope)
    if isinstance(expected, str) or not isinstance(expected, Sequence) or not expected:
        raise OptionError(f"checks.one_of: expected must be a list of texts, not {expected!r}")
    wanted = frozenset(
        prepared(require_text("one_of", "expected", text), normalize=normalize, ignore_case=ignore_case).strip()
        for text in expected
    )
    listed = ", ".join(map(quoted, expected[:_MOST_SHOWN])) + (", …" if len(expected) > _MOST_SHOWN else "")

    def judge_run(run: Run) -> Verdict:
        text = run.answer(scope, normalize=normalize, ignore_case=ignore_case).strip()
        if text in wanted:
            return PASSED, f"the answer is {quoted(text)}"
        return FAILED, f"expected one of {listed}; got {quoted(text)}"

    return check(
        "one_of",
        judge_run,
        options={"expected": list(expected), "ignore_case": ignore_case, "scope": scope, "normalize": normalize},
        defaults=_DEFAULTS,
        id=id,
        description=f"The answer is one of {listed}.",
    )


def starts_with(
    expected: str, ignore_case: bool = True, *, scope: Scope = "final", normalize: bool = True, id: str | None = None
) -> Scorer[None, None]:
    """The answer starts with `expected`; white space before either is ignored.

    Args:
        expected: How it starts. Every answer starts with an empty text.
        ignore_case: Fold case.
        scope: The `final` answer, or `all` assistant messages.
        normalize: Fold quotes, dashes, spaces and Unicode forms.
        id: Another id than `check-starts-with`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: `expected` is no string, or the scope is unknown.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> starts_with("dear").run_sync(create_agent_test_run(output="Dear Ada, ...")).score
        1.0
    """
    wanted = _wanted("starts_with", expected, scope, normalize=normalize, ignore_case=ignore_case).lstrip()
    shown = quoted(expected)

    def judge_run(run: Run) -> Verdict:
        text = run.answer(scope, normalize=normalize, ignore_case=ignore_case).lstrip()
        if text.startswith(wanted):
            return PASSED, f"the answer starts with {shown}"
        return FAILED, f"expected a start with {shown}, got {quoted(text)}"

    options = {"expected": expected, "ignore_case": ignore_case, "scope": scope, "normalize": normalize}
    return check(
        "starts_with",
        judge_run,
        options=options,
        defaults=_DEFAULTS,
        id=id,
        description=f"The answer starts with {shown}.",
    )


def ends_with(
    expected: str, ignore_case: bool = True, *, scope: Scope = "final", normalize: bool = True, id: str | None = None
) -> Scorer[None, None]:
    """The answer ends with `expected`; white space after either is ignored.

    Args:
        expected: How it ends. Every answer ends with an empty text.
        ignore_case: Fold case.
        scope: The `final` answer, or `all` assistant messages.
        normalize: Fold quotes, dashes, spaces and Unicode forms.
        id: Another id than `check-ends-with`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: `expected` is no string, or the scope is unknown.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> ends_with("?").run_sync(create_agent_test_run(output="Which city do you mean?")).score
        1.0
    """
    wanted = _wanted("ends_with", expected, scope, normalize=normalize, ignore_case=ignore_case).rstrip()
    shown = quoted(expected)

    def judge_run(run: Run) -> Verdict:
        text = run.answer(scope, normalize=normalize, ignore_case=ignore_case).rstrip()
        if text.endswith(wanted):
            return PASSED, f"the answer ends with {shown}"
        return FAILED, f"expected an end with {shown}, got {quoted(text)}"

    options = {"expected": expected, "ignore_case": ignore_case, "scope": scope, "normalize": normalize}
    return check(
        "ends_with",
        judge_run,
        options=options,
        defaults=_DEFAULTS,
        id=id,
        description=f"The answer ends with {shown}.",
    )


def _wanted(name: str, expected: str, scope: Scope, *, normalize: bool, ignore_case: bool) -> str:
    require_scope(name, scope)
    return prepared(require_text(name, "expected", expected), normalize=normalize, ignore_case=ignore_case)


def max_length(
    *, chars: int | None = None, words: int | None = None, scope: Scope = "final", id: str | None = None
) -> Scorer[None, None]:
    """The answer is at most so long. Give `chars` or `words`.

    Args:
        chars: The most characters (Unicode code points), without white space at both ends.
        words: The most words, which are what white space separates. Languages written without spaces, such as
            Chinese, Japanese and Thai, need `chars`.
        scope: The `final` answer, or `all` assistant messages.
        id: Another id than `check-max-length`.

    Returns:
        A scorer that gives 1 or 0.

    Raises:
        OptionError: Neither or both are given, a number is no whole number of at least 0, or the scope is unknown.

    Example:
        >>> from referee.testing import create_agent_test_run
        >>> max_length(words=5).run_sync(create_agent_test_run(output="It is sunny in Ghent today.")).reason
        '6 words, at most 5 allowed'
    """
    require_scope("max_length", scope)
    if (chars is None) == (words is None):
        raise OptionError("checks.max_length: give either chars or words")
    if words is None:
        most, unit, count = require_count("max_length", "chars", chars), "characters", _characters
    else:
        most, unit, count = require_count("max_length", "words", words), "words", _words

    def judge_run(run: Run) -> Verdict:
        length = count(run.answer(scope, normalize=False, ignore_case=False))
        return PASSED if length <= most else FAILED, f"{length:,} {unit}, at most {most:,} allowed"

    return check(
        "max_length",
        judge_run,
        options={"chars": chars, "words": words, "scope": scope},
        defaults={"chars": None, "words": None, "scope": "final"},
        id=id,
        description=f"The answer has at most {most:,} {unit}.",
    )


def _characters(text: str) -> int:
    return len(text.strip())


def _words(text: str) -> int:
    return len(text.split())
