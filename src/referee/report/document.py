"""What a report says, free of how it is drawn: a headline and blocks. Terminal, Markdown and HTML draw the same blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

#: How a text is meant: it is drawn in colour, never by colour alone.
Tone: TypeAlias = Literal["plain", "good", "bad", "warn", "dim"]


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Columns whose name starts with `>` are numbers, set to the right."""

    title: str
    columns: list[str]
    rows: list[list[Cell]]


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an item: what says so, and why. The reason may have several lines."""

    title: str
    reason: str
    tone: Tone = "bad"


@dataclass(frozen=True, slots=True)
class ItemProblems:
    """An item that failed: its name, what was asked and answered, and what is wrong."""

    name: str
    asked: str
    answered: str
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class Problems:
    """The items that failed, the worst first."""

    title: str
    items: list[ItemProblems]


Block: TypeAlias = Table | Note | Problems


@dataclass(frozen=True, slots=True)
class Document:
    """A headline with its tone, and blocks."""

    title: str
    verdict: str
    tone: Tone
    blocks: list[Block] = field(default_factory=list)


def number(value: float | None, digits: int = 3) -> str:
    """A number for people; a dash where there is none.

    Example:
        >>> number(0.5), number(None), number(1.0)
        ('0.500', '–', '1.000')
    """
    return "–" if value is None else f"{value:.{digits}f}"


def counted(count: int, noun: str) -> str:
    """So many of something.

    Example:
        >>> counted(1, "run"), counted(1200, "run")
        ('1 run', '1,200 runs')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def milliseconds(value: float | None) -> str:
    """A duration for people.

    Example:
        >>> milliseconds(12.3), milliseconds(2345.0)
        ('12 ms', '2.3 s')
    """
    if value is None:
        return "–"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"
