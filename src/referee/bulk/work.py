"""Bulk scoring from sources to outputs: cuts the input, has an engine score it, and puts together what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from referee.bulk.accounts import Accounts
from referee.bulk.engine import BrokenOffError, Engine
from referee.bulk.job import Job
from referee.bulk.journal import (
    Journal,
    done_of,
    file_states,
    journal_path,
    read_journal,
    require_same,
    require_unchanged,
    usable,
)
from referee.bulk.records import Header, Record, record_of
from referee.bulk.scoring import Part
from referee.bulk.shards import Input, Plan, Shard, shard_bytes
from referee.bulk.targets import StoreTarget, Target, file_target, written_size
from referee.errors import OptionError, ReadError, StoreError
from referee.pipeline import Scorer


class Work:
    """A piece of bulk scoring. A context manager: when it is left the outputs are whole, also after an error.

    Args:
        inputs: The files, in order.
        sources: How many sources they belong to.
        job: What is done with every shard.
        scorers: The job's scorers, loaded.
        engine: Scores the shards.
        outputs: The files to write.
        store: A store to write to.
        keeps_order: Whether scores are written in the order of the input.
        resume: Go on with what an earlier attempt has written.

    Attributes:
        accounts: The sums of what was done.
        can_resume: Whether what is not done now can be done later.

    Raises:
        OptionError: An output can't be written, or can't be gone on with.
    """

    def __init__(
        self,
        inputs: Sequence[Input],
        sources: int,
        job: Job,
        scorers: Sequence[Scorer[Any, Any]],
        engine: Engine,
        *,
        outputs: Sequence[Path] = (),
        store: str | None = None,
        keeps_order: bool = True,
        resume: bool = False,
    ) -> None:
        self._engine = engine
        self._outputs = list(outputs)
        self._is_complete = False
        self.can_resume = bool(outputs) and all(Path(file.path).is_file() for file in inputs)
        self.accounts = Accounts(inputs, sources, scorers, lowest=job.lowest)
        header = Header(
            files=file_states(inputs),
            scorers=[(scorer.id, scorer.version) for scorer in scorers],
            reading=msgspec.structs.asdict(job.reading),
            outputs=[str(path) for path in outputs],
            starts=[],
            shard_bytes=shard_bytes(inputs, engine.processes),
            sends_content=engine.sends_content,
            keeps_order=keeps_order,
        )
        records = self._earlier(header, resume)
        sizes: Sequence[int | None] = (records[-1].sizes if records else header.starts) or [None] * len(outputs)
        self._targets = self._opened(sizes, store, scorers)
        header.starts = header.starts or self._sizes
        self._written = self._sizes
        self._written_parts = len(records)
        self._journal = Journal(journal_path(self._outputs[0]), header, records) if self.can_resume else None
        self._plan = Plan(
            inputs,
            format=job.reading.chosen,
            max_line_bytes=job.reading.max_line_bytes,
            shard_bytes=header.shard_bytes,
            sends_content=engine.sends_content,
            done=done_of(records),
        )
        for record in records:
            self.accounts.names(record.file, record.ids)
            self.accounts.add(record)

    def _earlier(self, header: Header, resume: bool) -> list[Record]:
        """The records of an earlier attempt; the header takes over how it cut the input."""
        if not self._outputs:
            if resume:
                raise OptionError("--resume needs an output file (-o): what is done is written down beside it")
            return []
        path = journal_path(self._outputs[0])
        if not resume:
            if path.exists():
                raise OptionError(
                    f"{path} says that {self._outputs[0]} is not complete: go on with --resume, or remove it to start again"
                )
            return []
        if not self.can_resume:
            raise OptionError("--resume needs files: standard input or a pipe can't be read twice")
        if not path.exists():
            return []
        earlier, records = read_journal(path)
        require_same(path, earlier, header)
        kept = usable(path, earlier, records, [written_size(output) for output in self._outputs])
        require_unchanged(path, earlier, header, kept)
        header.starts, header.shard_bytes = earlier.starts, earlier.shard_bytes
        return kept

    def _opened(
        self, sizes: Sequence[int | None], store: str | None, scorers: Sequence[Scorer[Any, Any]]
    ) -> list[Target]:
        targets: list[Target] = []
        for path, size in zip(self._outputs, sizes, strict=True):
            try:
                targets.append(file_target(path, size))
            except OSError as error:
                raise OptionError(f"{path}: can't be written: {error.strerror}") from None
        if store is not None:
            targets.append(StoreTarget(store, scorers))
        return targets

    @property
    def _sizes(self) -> list[int]:
        return [target.size for target in self._targets[: len(self._outputs)]]

    def __enter__(self) -> Work:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._plan.close()
        self.accounts.finish()
        if error is not None:
            for target, size in zip(self._targets, self._written):
                with suppress(OSError):
                    target.cut(size)
        for target in self._targets:
            try:
                target.close(is_complete=self._is_complete)
            except OSError as problem:
                if error is None:
                    raise BrokenOffError(f"the output can't be written: {problem.strerror or problem}") from None
        if self._journal is not None:
            # What can't be done, or has not begun, is not gone on with.
            is_over = self._is_complete or isinstance(error, OptionError) or not self._written_parts
            self._journal.close(is_complete=is_over)

    def run(self, observe: Callable[[Accounts], None] = lambda accounts: None) -> None:
        """Do all that is not done.

        Args:
            observe: Called after each part that was written.

        Raises:
            BrokenOffError: An output can't be written any more, or the ids can't be kept.
            OptionError: The input can't be scored this way.
        """
        is_complete = True
        for shard, part in self._engine.parts(iter(self._plan)):
            try:
                self._commit(shard, part)
            except OSError as error:
                raise BrokenOffError(f"an output can't be written: {error.strerror or error}") from None
            except (StoreError, ReadError) as error:  # a read error: the ids can't be kept
                raise BrokenOffError(str(error)) from None
            is_complete = is_complete and part.lost is None
            observe(self.accounts)
        self._is_complete = is_complete

    def _commit(self, shard: Shard, part: Part) -> None:
        names = self.accounts.names(shard.file, part.ids)
        if part.ids:
            for target, content in zip(self._targets, part.payloads, strict=True):
                target.write(content, part.ids, names)
        if part.tally is not None:
            part.tally.rename(names)
        sizes = self._sizes
        record = record_of(shard, part, sizes)
        if self._journal is not None and self._journal.append(record):
            for target in self._targets:
                target.sync()
            self._journal.sync()
        self._written = sizes
        self._written_parts += 1
        self.accounts.add(record)
