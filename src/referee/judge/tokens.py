"""Estimates of how many tokens a text has, without a tokenizer."""

from __future__ import annotations


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has: a quarter of its ASCII characters, and four fifths of the others.

    Good to about a fifth for English and for languages without spaces; other Latin scripts need some more, Cyrillic and
    Arabic some fewer.

    Example:
        >>> estimated_tokens("The ferry leaves at nine."), estimated_tokens("渡し船は九時に出ます。")
        (6, 9)
    """
    ascii_count = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return round(ascii_count / 4 + (len(text) - ascii_count) * 0.8)
