"""Erasure of an item's content from the files beside a store: journals, and caches of judges."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from referee.errors import OptionError
from referee.results import ItemResult, Judged, TurnResult, decode_record, encode_record
from referee.scores import Score, StepError, Unscored
from referee.storage.erasure import PURGED, nameless

if TYPE_CHECKING:
    from referee.judge.exchange import Reply

#: A reply that shares so many characters with an erased text goes; a shorter text goes where it stands whole.
_WINDOW = 20
_SHORTEST = 4
_IRRELEVANT = re.compile(r'[\\\s"]+')


def erase_from_journal(path: Path, item: str) -> int:
    """Erase an item's words from a journal. Gives how many results lost theirs.

    The file is written anew and put in the place of the old one, so no evaluation may be writing to it meanwhile.

    Raises:
        OptionError: The file can't be read or written.
    """
    erased = 0
    draft = path.with_name(f"{path.name}.purging")
    try:
        with path.open("rb") as lines, draft.open("wb") as written:
            for line in lines:
                result = _result_of(line, item)
                erased += result is not None
                written.write(line if result is None else encode_record(_without_words(result)) + b"\n")
            written.flush()
            os.fsync(written.fileno())
        draft.replace(path)
    except OSError as error:
        raise OptionError(f"the journal {path} can't be purged: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return erased


def _result_of(line: bytes, item: str) -> ItemResult | None:
    try:
        record = decode_record(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    return record if isinstance(record, ItemResult) and record.item_id == item else None


def _without_words(result: ItemResult) -> ItemResult:
    return msgspec.structs.replace(
        result,
        item_version="",
        tags=[],
        run=None,
        error=_nameless_error(result.error),
        scores={name: _bare(score) for name, score in result.scores.items()},
        own=[Judged(nameless(judged.measure), _bare(judged.score)) for judged in result.own],
        turns=[
            TurnResult(turn.turn, [Judged(nameless(judged.measure), _bare(judged.score)) for judged in turn.judged])
            for turn in result.turns
        ],
        hook_errors=[],
    )


def _bare(score: Score) -> Score:
    """A score with its number and nothing that could quote what it is of."""
    return Score(
        score.run_id,
        score.scorer_id,
        score.score,
        scorer_version=score.scorer_version,
        not_scorable=None if score.not_scorable is None else Unscored(score.not_scorable.step, PURGED),
        error=_nameless_error(score.error),
        range=score.range,
        lower_is_better=score.lower_is_better,
    )


def _nameless_error(error: StepError | None) -> StepError | None:
    return None if error is None else StepError(error.step, error.error_class, PURGED)


def erase_from_cache(path: Path, texts: Iterable[str]) -> int:
    """Remove the replies of a judge's cache that share words with erased texts. Gives how many.

    Raises:
        OptionError: The file is not there, or is no cache.
    """
    if not path.is_file():
        raise OptionError(f"there is no judge's cache at {path}")
    traces = _Traces(texts)
    from referee.judge.cache import Cache

    cache = Cache(path)
    try:
        return cache.forget(lambda reply: any(map(traces.are_in, _texts_of(reply))))
    finally:
        cache.close()


class _Traces:
    """What erased texts are known by: each stretch of `_WINDOW` characters, and short texts as a whole."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._stretches: set[int] = set()
        self._short: list[str] = []
        for text in map(_normal, texts):
            if len(text) >= _WINDOW:
                self._stretches.update(_stretches(text))
            elif len(text) >= _SHORTEST:
                self._short.append(text)

    def are_in(self, text: str) -> bool:
        """Whether a text shares a stretch with an erased one, or holds a short one whole."""
        normal = _normal(text)
        if any(short in normal for short in self._short):
            return True
        return any(stretch in self._stretches for stretch in _stretches(normal))


def _normal(text: str) -> str:
    """The text without what differs between a text and the JSON that quotes it."""
    return _IRRELEVANT.sub("", text).casefold()


def _stretches(text: str) -> Iterator[int]:
    return (hash(text[start : start + _WINDOW]) for start in range(len(text) - _WINDOW + 1))


def _texts_of(reply: Reply) -> Iterator[str]:
    """The texts of a reply, and those of the JSON that it is."""
    for text in _leaves(msgspec.to_builtins(reply)):
        yield text
        try:
            yield from _leaves(msgspec.json.decode(text))
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            continue


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _leaves(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _leaves(entry)
