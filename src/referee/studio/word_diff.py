"""Two texts, word by word: what both have, and what only one of them has."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["same", "removed", "added"]

#: Texts with more words are not compared: time and memory grow with the product of both.
MOST_WORDS = 8_000
_WORD = r"[\p{L}\p{N}\p{M}_]+|\s+|."


class Segment(NamedTuple):
    """A piece of text that both have, or only the first (`removed`) or only the second (`added`)."""

    kind: Kind
    text: str


def word_diff(first: str, second: str) -> list[Segment] | None:
    """The texts as segments in order; `None` when they are too long to compare.

    Joined without the added segments they give the first text, without the removed ones the second.

    Example:
        >>> [tuple(segment) for segment in word_diff("It is sunny.", "It was sunny.")]
        [('same', 'It '), ('removed', 'is'), ('added', 'was'), ('same', ' sunny.')]
    """
    import regex
    from rapidfuzz.distance import LCSseq

    if max(len(first), len(second)) > MOST_WORDS * 20:
        return None
    words = [regex.findall(_WORD, text, regex.DOTALL) for text in (first, second)]
    if max(map(len, words)) > MOST_WORDS * 2:
        return None
    segments: list[Segment] = []
    for step in LCSseq.opcodes(*words):
        left, right = (
            "".join(words[0][step.src_start : step.src_end]),
            "".join(words[1][step.dest_start : step.dest_end]),
        )
        if step.tag == "equal":
            segments.append(Segment("same", left))
            continue
        if left:
            segments.append(Segment("removed", left))
        if right:
            segments.append(Segment("added", right))
    return _joined(segments)


def _joined(segments: list[Segment]) -> list[Segment]:
    """Changes that only white space keeps apart are read as one."""
    found: list[Segment] = []
    removed = added = ""

    def flush() -> None:
        nonlocal removed, added
        found.extend(Segment(kind, text) for kind, text in (("removed", removed), ("added", added)) if text)  # type: ignore[arg-type]
        removed = added = ""

    for place, (kind, text) in enumerate(segments):
        if kind == "removed":
            removed += text
        elif kind == "added":
            added += text
        elif text.isspace() and (removed or added) and place + 1 < len(segments):
            removed += text
            added += text
        else:
            flush()
            found.append(Segment(kind, text))
    flush()
    return found
