"""The child process: scores or stores what it is sent, and ends when its parent is gone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any, TypeAlias

from referee.execution import step_error
from referee.live import wire
from referee.live.steps import LOADING, SCORING
from referee.pipeline import Scorer
from referee.runs import Run
from referee.scores import Score, StepError

#: The agent comes first: this process takes what it leaves of the processor.
_NICENESS = 10

#: Answers a request of two parts: a name and what belongs to it.
Answer: TypeAlias = Callable[[str, wire.Frame], bytes]


def main() -> None:
    """Serve the parent over standard input and output until it closes them."""
    requests, replies = wire.take_pipes()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    order = wire.receive(requests)
    if order is not None:
        duty, settings = wire.decode(order, list)
        serve(requests, replies, DUTIES[duty], settings)


def serve(requests: int, replies: int, duty: Callable[[Any], Answer], settings: Any) -> None:
    """Get ready, say so, then answer each request."""
    received: SimpleQueue[tuple[str, wire.Frame]] = SimpleQueue()
    threading.Thread(target=_read, args=(requests, received), daemon=True).start()
    answer = duty(settings)
    wire.send(replies, b"")
    while True:
        wire.send(replies, answer(*received.get()))


def _read(requests: int, received: SimpleQueue[tuple[str, wire.Frame]]) -> None:
    """Pass requests on; end the process with its parent, whatever it is doing."""
    while (name := wire.receive(requests)) is not None and (content := wire.receive(requests)) is not None:
        received.put((name.decode(), content))
    os._exit(0)


def scoring(specs: Mapping[str, Any]) -> Answer:
    """Answers the name of a scorer and a run with a score."""
    from referee.loading import load_scorer

    def load(spec: Any) -> Scorer[Any, Any] | StepError:
        try:
            return load_scorer(spec)
        except Exception as error:
            return step_error(LOADING, error)

    scorers = {name: load(spec) for name, spec in specs.items()}

    def answer(name: str, frame: wire.Frame) -> bytes:
        scorer = scorers[name]
        if isinstance(scorer, StepError):
            return wire.encode(Score("", "", error=scorer))
        try:
            return wire.encode(scorer.run_sync(wire.decode(frame, Run)))
        except Exception as error:
            return wire.encode(Score("", "", error=step_error(SCORING, error)))

    return answer


def storing(address: str) -> Answer:
    """Answers an experiment and its scored runs with nothing once they are saved, else with what went wrong."""
    from referee.storage.scored_runs import ScoredRun
    from referee.storage.store import Store

    opened: list[Store] = []

    def answer(experiment: str, frame: wire.Frame) -> bytes:
        try:
            if not opened:
                opened.append(Store(address))
            if experiment == wire.DROPS:
                drops = wire.decode(frame, list[tuple[str, str, int]])
                opened[0].add_drops({(scorer, reason): count for scorer, reason, count in drops})
            else:
                opened[0].save(wire.decode(frame, list[ScoredRun]), experiment=experiment)
        except Exception as error:
            return f"{type(error).__name__}: {error}".encode("utf-8", "replace")
        return b""

    return answer


DUTIES: dict[str, Callable[[Any], Answer]] = {"score": scoring, "store": storing}
