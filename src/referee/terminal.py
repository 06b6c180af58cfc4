"""What may be shown on a terminal: recorded content is hostile, and a terminal obeys control characters."""

from __future__ import annotations

import re

#: Control characters but newline and tab, and the marks that turn the direction of text.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    r"""The text with every character that could steer a terminal, or turn its direction, written out.

    Example:
        >>> print(visible("red \x1b[31m and \u202e back"))
        red \x1b[31m and \u202e back
    """
    return _UNSAFE.sub(lambda match: match.group().encode("unicode_escape", "surrogatepass").decode(), text)


def one_line(text: str, most: int = 200) -> str:
    """The text on one line, shortened with its length when it is long.

    Example:
        >>> one_line("two\\nlines"), one_line("x" * 300, 20)
        ('two lines', 'xxxxxxxxxxxxxxxxxxxx… (300 characters)')
    """
    line = " ".join(visible(text).split())
    return line if len(line) <= most else f"{line[:most]}… ({len(text):,} characters)"
