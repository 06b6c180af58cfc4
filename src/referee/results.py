"""What an evaluation leaves behind: its plan and the result of every item, as records that go to a file and come back."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from referee.bounds import Bounds
from referee.runs import Run
from referee.scores import Score, StepError

Role: TypeAlias = Literal["gate", "scorer"]
Group: TypeAlias = Literal["agent", "trajectory", "workflow", "steps"]
#: Target, item id and repeat.
ResultKey: TypeAlias = tuple[str, str, int]

#: Raised when a reader of an earlier version could misread a line.
SCHEMA_VERSION = 1


class Measure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A gate or a scorer of an evaluation: what it is called and what is asked of it.

    Attributes:
        id: The name it is reported under; unique in its place, with `#2`, `#3` where needed.
        role: `gate`: every item has to hold the bounds. `scorer`: its mean is reported.
        version: The scorer's version.
        description: What it measures, in one line.
        bounds: Of a gate, what each score has to hold; of a scorer, its threshold for the mean, or `None`.
        min_coverage: The share of the scorable items that must have a score for a threshold to be reached.
        confidence: The threshold must hold for the whole interval of this confidence, not only for the mean.
        passes: The gate holds for an item when it holds in so many of its repeats; `None`: in all.
        range: Lowest and highest value of a score.
        lower_is_better: Whether a low score is the good one.
        group: What is scored.
        step: The workflow step that is scored, in the group `steps`.
    """

    id: str
    role: Role = "scorer"
    version: str = ""
    description: str = ""
    bounds: Bounds | None = None
    min_coverage: float = 1.0
    confidence: float | None = None
    passes: int | None = None
    range: tuple[float, float] = (0.0, 1.0)
    lower_is_better: bool = False
    group: Group = "agent"
    step: str | None = None


class Judged(msgspec.Struct, frozen=True):
    """A measure that belongs to one item or one turn alone, and its score."""

    measure: Measure
    score: Score


class TurnResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The scores of one turn of a conversation and its run. Only turns with measures of their own have one."""

    turn: int
    judged: list[Judged]
    run: Run | None = None


class ItemResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="item", tag_field="kind"):
    """What one item gave once.

    Attributes:
        item_id: The item.
        item_version: A hash of the item's content.
        target: The target's name; empty when there is only one.
        repeat: Which of the item's repeats, from 0.
        tags: The item's tags.
        run: What the target did; `None` when it failed before it gave anything.
        error: Why there is nothing to score: the step (`before_item`, `target`, `turn 2`), class and message.
        scores: The scores of the evaluation's measures by their id; errors when the target failed.
        own: The scores of the item's own scorers and gates.
        turns: The scores of single turns.
        hook_errors: Failures of `after_item` and `on_item_complete`; the scores stand.
        started_at: ISO 8601 time.
        duration_ms: Wall time of target and scorers.
    """

    item_id: str
    item_version: str = ""
    target: str = ""
    repeat: int = 0
    tags: list[str] = []
    run: Run | None = None
    error: StepError | None = None
    scores: dict[str, Score] = {}
    own: list[Judged] = []
    turns: list[TurnResult] = []
    hook_errors: list[StepError] = []
    started_at: str | None = None
    duration_ms: float | None = None

    @property
    def key(self) -> ResultKey:
        """What makes this result unique in its evaluation."""
        return (self.target, self.item_id, self.repeat)

    @property
    def name(self) -> str:
        """The item, its repeat and its target, for people."""
        repeat = f" (repeat {self.repeat + 1})" if self.repeat else ""
        return f"{self.item_id}{repeat}" + (f" [{self.target}]" if self.target else "")

    @property
    def all_scores(self) -> list[Score]:
        """Every score of this result: of the evaluation's measures, the item's own and the turns'."""
        turns = [judged.score for turn in self.turns for judged in turn.judged]
        return [*self.scores.values(), *(judged.score for judged in self.own), *turns]

    @property
    def has_errors(self) -> bool:
        """Whether the target or a scorer failed."""
        return self.error is not None or any(score.error is not None for score in self.all_scores)


class Evaluation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag="evaluation", tag_field="kind"):
    """The plan of an evaluation: everything that a report needs beside the results.

    Attributes:
        id: Unique; kept when the evaluation is resumed.
        name: For people.
        created_at: ISO 8601 time.
        targets: The names of the targets; one empty name when there is only one.
        items: How often each item is run, by item id, in the order of the data.
        measures: The evaluation's gates and scorers, gates first.
        confidence: Of the intervals that are reported.
        schema_version: Of the records.
    """

    id: str
    name: str = ""
    created_at: str = ""
    targets: list[str] = msgspec.field(default_factory=lambda: [""])
    items: dict[str, int] = {}
    measures: list[Measure] = []
    confidence: float = 0.95
    schema_version: int = SCHEMA_VERSION

    def keys(self) -> list[ResultKey]:
        """The keys of all results that the plan asks for, in order."""
        return [
            (target, item, repeat)
            for item, repeats in self.items.items()
            for target in self.targets
            for repeat in range(repeats)
        ]


Record: TypeAlias = Evaluation | ItemResult

#: Free-form values that a scorer or an application put into a result; written as text when they are no JSON.
_encoder = msgspec.json.Encoder(enc_hook=repr)
_decoder = msgspec.json.Decoder(Record)


def encode_record(record: Record) -> bytes:
    """The record as one line of JSON, without the line's end. What is no JSON is written as text.

    Raises:
        RecursionError: A value contains itself, or is nested deeper than Python's recursion limit.

    Example:
        >>> decode_record(encode_record(ItemResult(item_id="a"))).key
        ('', 'a', 0)
    """
    try:
        return _encoder.encode(record)
    except UnicodeEncodeError:
        plain = msgspec.to_builtins(record, enc_hook=repr, str_keys=True)
        return _encoder.encode(_writable(plain))


def decode_record(line: bytes) -> Record:
    """The record of a line.

    Raises:
        msgspec.MsgspecError: The line is no such record.
    """
    return _decoder.decode(line)


def _writable(value: Any) -> Any:
    """The value with halves of surrogate pairs written out, which no JSON text can carry."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_writable(str(key)): _writable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_writable(item) for item in value]
    return value
