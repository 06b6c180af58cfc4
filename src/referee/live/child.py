"""The child process: scores what it is sent, and ends when its parent is gone."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from queue import SimpleQueue
from typing import Any

from referee.execution import step_error
from referee.live import wire
from referee.live.steps import LOADING, SCORING
from referee.loading import load_scorer
from referee.pipeline import Scorer
from referee.runs import Run
from referee.scores import Score, StepError

#: The agent comes first: this process takes what it leaves of the processor.
_NICENESS = 10


def main() -> None:
    """Serve the parent over standard input and output until it closes them."""
    requests, replies = _take_pipes()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    specs = wire.receive(requests)
    if specs is not None:
        serve(requests, replies, wire.decode(specs, dict))


def serve(requests: int, replies: int, specs: Mapping[str, Any]) -> None:
    """Say that the scorers are loaded, then answer each request, a scorer's name and a run, with a score."""
    received: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
    threading.Thread(target=_read, args=(requests, received), daemon=True).start()
    scorers = {name: _load(spec) for name, spec in specs.items()}
    wire.send(replies, b"")
    while True:
        name, frame = received.get()
        wire.send(replies, _answer(scorers[name], frame))


def _take_pipes() -> tuple[int, int]:
    """The pipes to the parent, out of reach of scorers that print or read: those get standard error and nothing."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return requests, replies


def _read(requests: int, received: SimpleQueue[tuple[str, bytes]]) -> None:
    """Pass requests on; end the process with its parent, whatever a scorer is doing."""
    while (name := wire.receive(requests)) is not None and (frame := wire.receive(requests)) is not None:
        received.put((name.decode(), frame))
    os._exit(0)


def _load(spec: Any) -> Scorer[Any, Any] | StepError:
    try:
        return load_scorer(spec)
    except Exception as error:
        return step_error(LOADING, error)


def _answer(scorer: Scorer[Any, Any] | StepError, frame: bytes) -> bytes:
    if isinstance(scorer, StepError):
        return wire.encode(Score("", "", error=scorer))
    try:
        return wire.encode(scorer.run_sync(wire.decode(frame, Run)))
    except Exception as error:
        return wire.encode(Score("", "", error=step_error(SCORING, error)))
