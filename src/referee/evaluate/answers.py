"""From what a target gives to the run of one turn, and from the turns' runs to the run of the whole conversation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from referee.errors import RefereeError
from referee.evaluate.targets.target import Call
from referee.formats import to_run
from referee.items import Item
from referee.jsonvalue import canonical
from referee.messages import Message, Text
from referee.runs import Run, Usage, with_id
from referee.trajectory import Trajectory


class AnswerError(RefereeError):
    """A target gave something that is no answer."""


def input_messages(given: Any) -> list[Message]:
    """The messages of a turn's input: a text is what the user says; data that is no message is shown as JSON.

    Raises:
        ReadError: A list of messages can't be read.

    Example:
        >>> input_messages("Hi")[0].role, input_messages({"city": "Ghent"})[0].text
        ('user', '{"city":"Ghent"}')
    """
    if isinstance(given, str):
        return [Message("user", [Text(str.__str__(given))])]
    if isinstance(given, Message):
        return [given]
    if isinstance(given, list) and given and all(isinstance(entry, Message) for entry in given):
        return list(given)
    if _looks_like_messages(given):
        run = to_run(given)
        return [*run.system, *run.history, *run.input, *run.output]
    return [Message("user", [Text(canonical(given).decode())])]


def _looks_like_messages(given: Any) -> bool:
    listed = given if isinstance(given, list) else [given]
    return bool(listed) and all(isinstance(entry, dict) and "role" in entry for entry in listed)


def before_last_user(messages: Sequence[Message]) -> int:
    """Where the last user turn of the messages begins; user messages in a row are one turn."""
    start = len(messages)
    while start and messages[start - 1].role != "user":
        start -= 1
    if not start:
        return 0
    while start and messages[start - 1].role == "user":
        start -= 1
    return start


def answer_run(answer: Any, call: Call) -> Run:
    """The run of one turn: what was asked, and what the target gave.

    Raises:
        AnswerError: The target gave nothing, or something that is no answer.
        ReadError: Its messages can't be read.
    """
    if isinstance(answer, Run):
        _check(answer)
        return answer if answer.input else _asked(answer, call)
    if answer is None:
        raise AnswerError("the target gave nothing (None); it gives text, messages or a Run")
    if isinstance(answer, str):
        # A subclass of str, as LangChain's parsers give, is no plain text to an encoder.
        return _asked(Run(output=[Message("assistant", [Text(str.__str__(answer))])]), call)
    if isinstance(answer, Message):
        answer = [answer]
    if isinstance(answer, (list, tuple)) and all(isinstance(entry, Message) for entry in answer):
        return _asked(Run(output=_rest(list(answer), call)), call)
    if isinstance(answer, (bool, int, float)):
        raise AnswerError(f"the target gave {answer!r} ({type(answer).__name__}); it gives text, messages or a Run")
    return _asked(_new(_read(answer), call), call)


def _read(answer: Any) -> Run:
    """The run of plain data. In an object's `output` may stand messages of any format, beside what else a run says."""
    output = answer.get("output") if isinstance(answer, Mapping) else None
    if not isinstance(output, list) or not _looks_like_messages(output) or any("parts" in entry for entry in output):
        return to_run(answer)
    said, about = to_run(output), to_run({**answer, "output": ""})
    spoken = [*said.history, *said.input, *said.output]
    return msgspec.structs.replace(about, system=[*about.system, *said.system], output=spoken)


def _check(run: Run) -> None:
    """Refuse a run that a user filled with values of wrong types: neither scorers nor a journal could read it."""
    try:
        for message in (*run.system, *run.history, *run.input, *run.output):
            if not isinstance(message, Message):
                problem = "a Run's messages are Message objects (referee.to_run makes a Run of plain data)"
                raise AnswerError(f"{problem}, not {type(message).__name__}")
        msgspec.json.decode(msgspec.json.encode(run, enc_hook=repr), type=Run)
    except (msgspec.ValidationError, TypeError) as error:
        raise AnswerError(f"the target gave a Run with a wrong value: {error}") from None
    except (
        UnicodeEncodeError,
        RecursionError,
    ):  # half a surrogate pair, or nested deeply: scorers say what they can't take
        return
    for name in ("duration_ms", "cost"):
        value = getattr(run, name)
        if value is not None and not math.isfinite(value):
            raise AnswerError(f"the target gave a Run whose {name} is {value}")


def _new(run: Run, call: Call) -> Run:
    """The run with only what the target added in its output, when it gave the whole conversation."""
    if not run.input:
        return run
    said = [*run.history, *run.input, *run.output]
    rest = _rest(said, call)
    return run if len(rest) == len(said) else msgspec.structs.replace(run, history=[], input=[], output=rest)


def _rest(said: list[Message], call: Call) -> list[Message]:
    """The messages without those that the target was sent."""
    asked = [message for message in call.messages if message.role != "system"]
    earlier = [message for message in call.thread.messages if message.role != "system"]
    spoken = [message for message in said if message.role != "system"]
    for sent in ([*earlier, *asked], asked):
        if sent and len(spoken) >= len(sent) and all(map(_same, sent, spoken)):
            return spoken[len(sent) :]
    return said


def _same(left: Message, right: Message) -> bool:
    return left.role == right.role and left.text.strip() == right.text.strip()


def _asked(run: Run, call: Call) -> Run:
    """The run with the turn's question, unless it carries the conversation itself."""
    if run.input:
        return run
    earlier = call.thread.messages
    start = before_last_user(call.messages)
    asked = [*earlier, *call.messages[:start]]
    return msgspec.structs.replace(
        run,
        system=run.system or [message for message in (*asked, *call.messages[start:]) if message.role == "system"],
        history=[message for message in asked if message.role != "system"],
        input=[message for message in call.messages[start:] if message.role != "system"],
    )


def whole_run(runs: Sequence[Run]) -> Run:
    """The run of a conversation: all turns' user messages as input, all turns' output.

    Example:
        >>> turns = [Run(input=input_messages(text), output=[Message("assistant", [Text("Yes.")])]) for text in "ab"]
        >>> whole_run(turns).input_text, whole_run(turns).output_text
        ('a\\nb', 'Yes.\\nYes.')
    """
    if len(runs) == 1:
        return runs[0]
    last, durations = runs[-1], [run.duration_ms for run in runs]
    return Run(
        system=runs[0].system,
        history=runs[0].history,
        input=[message for run in runs for message in run.input],
        output=[message for run in runs for message in run.output],
        metadata={key: value for run in runs for key, value in (run.metadata or {}).items()} or None,
        context=last.context,
        trajectory=_joined_trajectory(runs),
        trace_id=last.trace_id,
        started_at=runs[0].started_at,
        duration_ms=_sum(durations),
        usage=_joined_usage(runs),
        cost=_sum([run.cost for run in runs]),
        model=last.model,
        warnings=[warning for run in runs for warning in run.warnings],
    )


def _sum(values: Iterable[Any]) -> Any:
    """The sum; `None` when a part of it is not known."""
    values = list(values)
    return None if None in values else sum(values)


def _joined_usage(runs: Sequence[Run]) -> Usage | None:
    usages = [run.usage for run in runs if run.usage is not None]
    if len(usages) < len(runs):
        return None
    return Usage(
        _sum(usage.input_tokens for usage in usages),
        _sum(usage.output_tokens for usage in usages),
        _sum(usage.total for usage in usages),
    )


def _joined_trajectory(runs: Sequence[Run]) -> Trajectory | None:
    recorded = [run.trajectory for run in runs if run.trajectory is not None]
    if len(recorded) < len(runs):
        return None
    return Trajectory(
        steps=[step for trajectory in recorded for step in trajectory.steps],
        total_duration_ms=_sum(trajectory.total_duration_ms for trajectory in recorded),
    )


def expecting(run: Run, item: Item) -> Run:
    """The run with an id and with what the item expects of it."""
    expected = {
        name: getattr(item, name)
        for name in ("ground_truth", "expected_trajectory", "expected_tool_calls", "context")
        if getattr(item, name) is not None
    }
    if item.metadata:
        expected["metadata"] = {**item.metadata, **(run.metadata or {})}
    return with_id(msgspec.structs.replace(run, **expected)) if expected else with_id(run)
