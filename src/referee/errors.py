"""Every error that Referee raises on purpose.

```
RefereeError
├── OptionError (also ValueError)       a wrong option, name or expectation, found before anything runs
├── ReadError (also ValueError)         a source, line or record that can't be read
├── MissingExtraError (also ImportError) an optional package is not installed; names the extra
├── ScoreCheckError (also AssertionError) `Score.check()` on a score that does not pass
├── InvalidScoreError                   a scorer gave something that is no score
├── StoreError                          a store that can't be opened, read or written
└── JudgeError                          the judge gave no usable answer; keeps the raw reply
    ├── EndpointError                   the endpoint failed, or refused the request
    ├── JudgeTimeoutError               the answers for one item took too long
    ├── UnreadableReplyError            the reply is cut off or does not fit what was asked
    ├── RefusedReplyError               the model refused, or a filter withheld the reply
    └── BudgetError                     the budget is used up
```
"""

from __future__ import annotations

from typing import Any


class RefereeError(Exception):
    """Base of all errors that Referee raises on purpose."""


class OptionError(RefereeError, ValueError):
    """A wrong option, name or expectation. Found before anything runs."""


class ReadError(RefereeError, ValueError):
    """A source, a line or a record that can't be read.

    Args:
        problem: What is wrong and what to do about it, in one line.
        source: File name, or `<stdin>`; `None` for an object in memory.
        line: Line number, from 1.
        field: Path of the field, like `messages[2].role`.
    """

    def __init__(
        self, problem: str, *, source: str | None = None, line: int | None = None, field: str | None = None
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.source = source
        self.line = line
        self.field = field

    def at(self, source: str | None, line: int | None) -> ReadError:
        """The same error with its place filled in."""
        return ReadError(self.problem, source=self.source or source, line=self.line or line, field=self.field)

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.source, self.line) if part is not None)
        where = f"{place}: " if place else ""
        return f"{where}{self.field}: {self.problem}" if self.field else f"{where}{self.problem}"


class MissingExtraError(RefereeError, ImportError):
    """A feature needs a package that is not installed.

    Example:
        >>> print(MissingExtraError("Parquet output", package="pyarrow", extra="parquet"))
        Parquet output needs the package pyarrow: pip install 'referee[parquet]'
    """

    def __init__(self, feature: str, *, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs the package {package}: pip install 'referee[{extra}]'")
        self.package = package
        self.extra = extra


class ScoreCheckError(RefereeError, AssertionError):
    """`Score.check()` met a score that does not pass."""


class InvalidScoreError(RefereeError):
    """A scorer gave something that is no score: no number, not finite, or outside its range."""


class StoreError(RefereeError):
    """A store that can't be opened, read or written, or does not hold what was asked for."""


class JudgeError(RefereeError):
    """The judge gave no usable answer.

    Args:
        message: What happened, in one line.
        raw_reply: The reply as it came, kept for people to read. `None` when there was no reply.
        usage: What the failed attempts cost (a `referee.scores.JudgeUsage`).
    """

    def __init__(self, message: str, *, raw_reply: str | None = None, usage: Any = None) -> None:
        super().__init__(message)
        self.raw_reply = raw_reply
        self.usage = usage


class EndpointError(JudgeError):
    """The judge's endpoint failed, or refused the request.

    Args:
        message: What happened, in one line.
        passing: Whether the same request may succeed later.
        status: The HTTP status, where there is one.
        retry_after: Seconds that the endpoint asks to wait.
        raw_reply: What came back.
        usage: What the attempts cost.
    """

    def __init__(
        self,
        message: str,
        *,
        passing: bool = False,
        status: int | None = None,
        retry_after: float | None = None,
        raw_reply: str | None = None,
        usage: Any = None,
    ) -> None:
        super().__init__(message, raw_reply=raw_reply, usage=usage)
        self.passing = passing
        self.status = status
        self.retry_after = retry_after


class JudgeTimeoutError(JudgeError):
    """The judge's answers for one item took longer than `item_timeout`."""


class UnreadableReplyError(JudgeError):
    """The judge's reply is cut off, or does not fit what was asked, also when asked once more."""


class RefusedReplyError(JudgeError):
    """The model refused to answer, or a content filter withheld its reply."""


class BudgetError(JudgeError):
    """The judge's budget is used up. What was done before stands."""
