"""An item played on a target: each turn asked and answered on one thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import msgspec

from referee.evaluate.answers import answer_run, expecting, input_messages, whole_run
from referee.evaluate.mocks import ToolMocks
from referee.evaluate.targets.recorded import RecordedRuns
from referee.evaluate.targets.target import Call, Target, Thread
from referee.evaluate.threads import DeadlineError, is_failure, within
from referee.execution import step_error
from referee.items import Item, with_own_data
from referee.runs import Run
from referee.scores import StepError


@dataclass(slots=True)
class Played:
    """What a target did with an item.

    Attributes:
        turns: The run of each turn that was answered.
        run: The whole conversation; `None` when the target failed.
        error: Why it failed.
    """

    turns: list[Run] = field(default_factory=list)
    run: Run | None = None
    error: StepError | None = None


class Conversation:
    """Plays one item on one target, once.

    Args:
        target: The target.
        item: The item.
        repeat: Which of its repeats.
        thread_id: Unique in the evaluation.
        options: The target's options.
        mocks: What stands in for tools.
        deadline: The point in the loop's time at which to stop.
        time_limit: What to say when it is reached.
    """

    def __init__(
        self,
        target: Target,
        item: Item,
        repeat: int,
        *,
        thread_id: str,
        options: Mapping[str, Any],
        mocks: ToolMocks | None,
        deadline: float | None,
        time_limit: str,
    ) -> None:
        self.target = target
        self.is_recorded = isinstance(target, RecordedRuns)  # then neither time nor thread is ours to fill in
        self.item = item
        self.asked = item if self.is_recorded else with_own_data(item)
        self.repeat = repeat
        self.thread = Thread(thread_id)
        self.options = options
        self.mocks = mocks
        self.deadline = deadline
        self.time_limit = time_limit

    async def play(self) -> Played:
        """Ask turn by turn. A turn that fails ends the conversation; the turns before it are kept."""
        played = Played()
        several = len(self.item.user_turns) > 1
        for number, given in enumerate(self.asked.user_turns):
            step = f"turn {number + 1}" if several else "target"
            try:
                played.turns.append(await self._turn(given))
            except DeadlineError:
                played.error = StepError(step, "TimeoutError", self.time_limit)
            except BaseException as error:  # a target may fail in any way, and only its item with it
                if not is_failure(error):
                    raise
                played.error = step_error(step, root_cause(error))
            if played.error is not None:
                return played
        run = expecting(whole_run(played.turns), self.item)
        played.run = run if self.is_recorded else _with_thread(run, self.thread.id)
        return played

    async def _turn(self, given: Any) -> Run:
        call = Call(given, input_messages(given), self.thread, self.asked, self.repeat, self.options, self.mocks)
        started = perf_counter()
        answer = await within(self.target.answer(call), self.deadline)
        duration = (perf_counter() - started) * 1000
        run = expecting(answer_run(answer, call), self.item)
        self.thread.messages += [*call.messages, *run.output]
        if self.is_recorded or run.duration_ms is not None:
            return run
        return msgspec.structs.replace(run, duration_ms=duration)


def _with_thread(run: Run, thread_id: str) -> Run:
    return run if run.thread_id else msgspec.structs.replace(run, thread_id=thread_id)


def root_cause(error: BaseException) -> BaseException:
    """The exception itself; of a group of one its member, whose message says more."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
