"""Diffs of tool calls: what was expected beside what was called, as data and as text.

The data is a step result of `checks.tool_calls` and `checks.tool_plan`. Read back from JSON it is a plain object again;
`msgspec.convert(plain, ToolCallDiff)` makes a diff of it.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from referee.display import arguments_text, cut, printable, shown, shown_pair

ArgumentChange: TypeAlias = Literal["changed", "missing", "unexpected", "forbidden"]
CallChange: TypeAlias = Literal["matched", "changed", "moved", "missing", "extra", "left_out"]

_MOST_ROWS = 60
_MOST_ARGUMENTS = 20
_MARKS: dict[CallChange, str] = {
    "matched": "=",
    "changed": "~",
    "moved": ">",
    "missing": "-",
    "extra": "+",
    "left_out": " ",
}
_COUNTED: dict[CallChange, str] = {
    "changed": "with other arguments",
    "moved": "in another place",
    "missing": "missing",
    "extra": "extra",
}
_NOTED: dict[CallChange, str] = {"moved": "called in another place of the order", "left_out": "failed, not counted"}


class ArgumentDiff(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One argument that differs.

    Attributes:
        path: Where it stands in the arguments, like `filter.tags[0]`; empty for the arguments as a whole.
        change: `changed` the values differ; `missing` it is expected and was not given; `unexpected` it was given and
            is not expected; `forbidden` it must not be given.
        expected, actual: Both values; only the one that there is when one side has none.
        rule: How they were compared, when not by equality.
    """

    path: str
    change: ArgumentChange
    expected: Any = msgspec.UNSET
    actual: Any = msgspec.UNSET
    rule: str | None = None

    def to_text(self) -> str:
        """One line.

        Example:
            >>> ArgumentDiff("days[0]", "changed", 1, 2).to_text()
            'days[0]: expected 1, got 2'
        """
        place = printable(self.path) or "arguments"
        rule = f" ({self.rule})" if self.rule else ""
        if self.change == "missing":
            return f"{place}: missing, expected {shown(self.expected)}{rule}"
        if self.change == "unexpected":
            return f"{place}: not expected, got {shown(self.actual)}"
        if self.change == "forbidden":
            return f"{place}: forbidden, got {shown(self.actual)}"
        expected, actual = shown_pair(self.expected, self.actual)
        return f"{place}: expected {expected}{rule}, got {actual}"


class CallDiff(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of the diff: an expected call, a call, or both.

    Attributes:
        change: `matched`; `changed` the same tool with other arguments; `moved` the right call in another place of the
            order; `missing` not called; `extra` called and not expected; `left_out` a failed call that the check was
            told not to count.
        name: The tool; of an expected call with alternatives all their names.
        place: The place of the expected call among the expected ones, from 0.
        call: The place of the call among the run's tool calls, from 0.
        expected: The expected call as data; several are alternatives.
        args: The arguments of the call.
        arguments: The arguments that differ.
        allowed: An extra call that the check allows.
    """

    change: CallChange
    name: str
    place: int | None = None
    call: int | None = None
    expected: list[dict[str, Any]] = []
    args: Any = msgspec.UNSET
    arguments: list[ArgumentDiff] = []
    allowed: bool = False

    @property
    def problem(self) -> bool:
        """Whether this line is a reason to fail."""
        return self.change not in ("matched", "left_out") and not self.allowed

    @property
    def expected_text(self) -> str:
        """The expected call as one line, empty for a call that was not expected."""
        return " or ".join(
            call_text(entry["name"], entry.get("args", entry.get("allowed_args"))) for entry in self.expected
        )

    @property
    def called_text(self) -> str:
        """The call as one line, empty for a missing one."""
        return "" if self.call is None else call_text(self.name, self.args)

    @property
    def notes(self) -> list[str]:
        """What is wrong, one sentence each."""
        if self.change in _NOTED:
            return [_NOTED[self.change]]
        notes = [argument.to_text() for argument in self.arguments[:_MOST_ARGUMENTS]]
        if len(self.arguments) > _MOST_ARGUMENTS:
            notes.append(f"and {len(self.arguments) - _MOST_ARGUMENTS} more arguments")
        return notes


class ToolCallDiff(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """Expected calls and calls, aligned.

    Attributes:
        lines: In the order of the expected calls; calls that were not expected stand where they happened.
        expected: How many calls were expected. Optional ones do not count.
        matched: How many of them were called as expected.
        called: How many calls there were, without those left out.
    """

    lines: list[CallDiff]
    expected: int
    matched: int
    called: int

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        if self.matched == len(self.lines):
            return True
        return not any(line.problem for line in self.lines)

    @property
    def summary(self) -> str:
        """One sentence.

        Example:
            >>> ToolCallDiff([CallDiff("extra", "delete", call=0, allowed=True)], 0, 0, 1).summary
            'no call was expected; 1 other call is allowed'
        """
        text = f"{self.matched} of {self.expected} expected calls matched" if self.expected else "no call was expected"
        if self.matched == len(self.lines):
            return text
        changes = ["allowed" if line.allowed else line.change for line in self.lines]
        found = ", ".join(
            [f"{changes.count(change)} {words}" for change, words in _COUNTED.items() if change in changes]
        )
        if found:
            text += f": {found}"
        if "allowed" in changes:
            text += f"; {_many(changes.count('allowed'), 'other call')} allowed"
        if "left_out" in changes:
            text += f"; {_many(changes.count('left_out'), 'failed call')} not counted"
        return text

    def to_text(self) -> str:
        """The diff for a terminal: the summary, then a line for each call.

        Marks: `=` matched, `~` other arguments, `>` in another place, `-` missing, `+` extra. The first number is the
        place among the expected calls, the second among the calls, both from 1.

        Example:
            >>> wrong = ArgumentDiff("city", "changed", "Ghent", "Gent")
            >>> line = CallDiff("changed", "forecast", 0, 0, [{"name": "forecast"}], {"city": "Gent"}, [wrong])
            >>> print(ToolCallDiff([line], 1, 0, 1).to_text())
            0 of 1 expected calls matched: 1 with other arguments
              ~ 1 call 1 forecast(city="Gent")
                  city: expected "Ghent", got "Gent"
        """
        return "\n".join([self.summary, *(f"  {row}" for row in self._rows())])

    def to_markdown(self) -> str:
        """The diff as Markdown: the summary, and a code block of the kind `diff`, which many viewers colour.

        Whatever the agent wrote stands inside the code block and can't end it.

        Example:
            >>> print(ToolCallDiff([CallDiff("missing", "book", 0, None, [{"name": "book"}])], 1, 0, 0).to_markdown())
            **0 of 1 expected calls matched: 1 missing**
            <BLANKLINE>
            ```diff
            - 1 book()
            ```
        """
        body = "\n".join(self._rows())
        if not body:
            return f"**{self.summary}**"
        fence = "```"
        while fence in body:
            fence += "`"
        return f"**{self.summary}**\n\n{fence}diff\n{body}\n{fence}"

    def _rows(self) -> list[str]:
        """The lines to show. Allowed extra calls are only counted in the summary."""
        rows = [row for line in self.lines if not line.allowed for row in _rows_of(line)]
        more = len(rows) - _MOST_ROWS
        return rows if more <= 0 else [*rows[:_MOST_ROWS], f"… and {more} more lines"]


def call_text(name: str, args: Any, most: int = 120) -> str:
    """A call as one line.

    Example:
        >>> call_text("book", {"seat": "4A"}), call_text("book", None), call_text("run", "ls -l")
        ('book(seat="4A")', 'book()', 'run("ls -l")')
    """
    inside = "" if args is msgspec.UNSET else arguments_text(args, most)
    return f"{cut(printable(name), 60)}({inside})"


def _many(count: int, noun: str) -> str:
    return f"{count} {noun} is" if count == 1 else f"{count} {noun}s are"


def _rows_of(line: CallDiff) -> list[str]:
    place = "" if line.place is None else f"{line.place + 1} "
    where = "" if line.call is None else f"call {line.call + 1} "
    if line.change in ("matched", "moved"):  # its arguments are the expected ones
        text = cut(printable(line.name), 60)
    else:
        text = line.called_text or line.expected_text
    row = f"{_MARKS[line.change]} {place}{where}{text}"
    return [row] if line.change == "matched" else [row, *[f"    {note}" for note in line.notes]]
