"""A program as a target: one JSON object on its standard input, JSON on its standard output."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import signal
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from referee.errors import OptionError, RefereeError
from referee.evaluate.targets.chat import chat_messages
from referee.evaluate.targets.target import Call
from referee.jsonvalue import decode
from referee.judge.redaction import redacted
from referee.terminal import one_line

_MOST_BYTES = 16 * 1024 * 1024
_PIECE = 64 * 1024


class CommandTargetError(RefereeError):
    """The program could not be started, failed, or wrote something that is no JSON."""


class CommandTarget:
    """A program that is started once per turn. No shell is involved, and data never becomes part of the command.

    It reads one object from its standard input: `input` as the item gives it, `messages` and `history` as OpenAI chat
    messages, `thread_id`, `item_id`, `repeat`, `context` and `options`. It writes JSON: a text, a list of messages, or
    a run with `output`.

    Args:
        command: The program and its arguments, as a list or as one line in the shell's quoting.
        env: Variables added to the environment. Their values are in no error.
        cwd: The folder it runs in.

    Raises:
        OptionError: The command is empty or its quotes don't match, or a variable is no text.
    """

    mocks_tools = False
    converses = True

    def __init__(
        self, command: str | Sequence[str], *, env: Mapping[str, str] | None = None, cwd: str | None = None
    ) -> None:
        if not isinstance(command, (str, Sequence)):
            raise OptionError(f"a command is one line or a list of words, not {command!r}")
        try:
            self.command = shlex.split(command) if isinstance(command, str) else list(map(str, command))
        except ValueError as error:
            raise OptionError(f"the command {command!r}: {error}") from None
        if not self.command:
            raise OptionError("the command is empty")
        if not isinstance(env or {}, Mapping) or not all(
            isinstance(word, str) for pair in (env or {}).items() for word in pair
        ):
            raise OptionError("env is a mapping from names to texts")
        self.env = dict(env or {})
        self.cwd = cwd

    def check(self, options: Mapping[str, Any]) -> None:
        """Any options that are JSON.

        Raises:
            OptionError: They are not, or the folder is not there.
        """
        if self.cwd is not None and not Path(self.cwd).is_dir():
            raise OptionError(f"the command's folder {self.cwd} is not there")
        try:
            json.dumps(dict(options))
        except (TypeError, ValueError) as error:
            raise OptionError(f"options of a command must be JSON: {error}") from None

    async def answer(self, call: Call) -> Any:
        """Run the program and give what it wrote."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, **self.env},
                cwd=self.cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise CommandTargetError(f"{self.command[0]} can't be started: {error.strerror}") from None
        try:
            written, complaint = await _conversed(process, _question(call))
        except BaseException:
            _kill(process)
            raise
        if len(written) > _MOST_BYTES:
            _kill(process)
            raise CommandTargetError(f"{self.command[0]} wrote more than {_MOST_BYTES:,} bytes")
        if process.returncode:
            last = redacted(complaint.decode("utf-8", "replace"), self.env.values()).strip().rpartition("\n")[2][:300]
            raise CommandTargetError(
                f"{self.command[0]} ended with {process.returncode}" + (f": {last}" if last else "")
            )
        try:
            return decode(written)
        except (msgspec.DecodeError, UnicodeError):
            shown = one_line(redacted(written.decode("utf-8", "replace"), self.env.values()))
            raise CommandTargetError(f"{self.command[0]} wrote no JSON: {shown!r}") from None


def _question(call: Call) -> bytes:
    return msgspec.json.encode(
        {
            "input": call.input,
            "messages": chat_messages(call.messages),
            "history": chat_messages(call.thread.messages),
            "thread_id": call.thread.id,
            "item_id": call.item.id,
            "repeat": call.repeat,
            "context": call.item.context,
            "options": dict(call.options),
        },
        enc_hook=repr,
    )


async def _conversed(process: asyncio.subprocess.Process, question: bytes) -> tuple[bytes, bytes]:
    """Write the question, and read what the program writes until it closes its output, or writes too much.

    Of its complaints only the end is kept.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    asking = asyncio.ensure_future(_asked(process.stdin, question))
    complaining = asyncio.ensure_future(_last(process.stderr))
    try:
        written = bytearray()
        while len(written) <= _MOST_BYTES and (piece := await process.stdout.read(_PIECE)):
            written += piece
        if len(written) > _MOST_BYTES:
            return bytes(written), b""
        complaint = await complaining
        await asking
        await process.wait()
        return bytes(written), complaint
    finally:
        for task in (asking, complaining):
            task.cancel()


async def _asked(stream: asyncio.StreamWriter, question: bytes) -> None:
    with suppress(BrokenPipeError, ConnectionResetError):  # it need not read what it is asked
        stream.write(question)
        await stream.drain()
    with suppress(BrokenPipeError, ConnectionResetError):
        stream.close()
        await stream.wait_closed()


async def _last(stream: asyncio.StreamReader) -> bytes:
    """The end of what is written."""
    kept = b""
    while piece := await stream.read(_PIECE):
        kept = (kept + piece)[-_PIECE:]
    return kept


def _kill(process: asyncio.subprocess.Process) -> None:
    """End the program and what it started, which may still run when the program itself has ended."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        elif process.returncode is None:
            process.kill()
    # There is no other way to let go of pipes that are full: nobody reads them to their end any more.
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001
