"""Inspect logs: `.json`, and `.eval`, which is a zip file with one entry a sample. Each sample is a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Any

from referee.errors import ReadError
from referee.formats.archive import Archive
from referee.formats.conversation import Conversation
from referee.formats.decoded import Counts, Decoded, Turns, increase
from referee.formats.fields import mapping, number, objects, sequence, text, total
from referee.formats.inspect_steps import steps_of_events
from referee.formats.json_text import parse_json
from referee.formats.record import usage_of
from referee.formats.span_messages import feed, messages_of
from referee.messages import ToolResult

NAME = "inspect_log"
TITLE = "Inspect logs"

#: Logs are written by Python, whose JSON has NaN.
NAN_IS_NULL = True

_SAMPLE = re.compile(r"samples/[^/]+\.json")
_CHUNKED = re.compile(r"samples/([^/]+)/sample\.json")
_ATTACHMENT = "attachment://"


def detect(record: Any) -> bool:
    """Whether a record is a log, or a sample of one with its header."""
    if not isinstance(record, dict) or not isinstance(record.get("eval"), dict):
        return False
    return "sample" in record or ("status" in record and "task" in record["eval"])


def decode(record: Any, turns: Turns = "all") -> Decoded:
    """Read a log, or one sample as `records` gives it: `{eval, sample}`.

    Raises:
        ReadError: It is neither.
    """
    if not detect(record):
        raise ReadError("is no log of Inspect")
    header = mapping(record.get("eval"))
    samples = [record["sample"]] if "sample" in record else sequence(record.get("samples"))
    decoded = Decoded([], Counts())
    if not samples:
        increase(decoded.counts.problems, "log without samples")
    for sample in samples:
        if not isinstance(sample, dict):
            increase(decoded.counts.dropped, "sample that is no object")
            continue
        one = _sample(sample, header, turns)
        decoded.runs += one.runs
        decoded.counts.add(one.counts)
    return decoded


def records(stream: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """The samples of an `.eval` file, each with the log's header and the name of its entry.

    An entry that can't be read is given as the `ReadError` that says why.

    Args:
        stream: The zip file; it must be seekable.

    Raises:
        ReadError: It is no zip file, or none that Inspect wrote.
    """
    archive = Archive(stream)
    header = _header(archive)
    found = False
    for name in archive.names:
        chunked = _CHUNKED.fullmatch(name)
        if not _SAMPLE.fullmatch(name) and not chunked:
            continue
        found = True
        try:
            sample = parse_json(archive.read(name), nan_is_null=True)
            if chunked and isinstance(sample, dict):
                sample = sample | _chunks(archive, chunked.group(1))
        except ReadError as error:
            yield name, error
        else:
            yield name, {"eval": header, "sample": sample}
    if not found:
        raise ReadError("is a zip file without samples of an Inspect log")


def _header(archive: Archive) -> dict[str, Any]:
    """What the log says of the whole; a log of a run that was cut off has only what was written at its start."""
    for name in ("header.json", "_journal/start.json"):
        if name in archive.names:
            return mapping(mapping(parse_json(archive.read(name), nan_is_null=True)).get("eval"))
    return {}


def _chunks(archive: Archive, sample: str) -> dict[str, Any]:
    """Messages and attachments of a large sample, which stand in numbered pieces."""
    pieces: dict[str, list[tuple[int, str]]] = {"messages": [], "attachments": []}
    for name in archive.names:
        found = re.fullmatch(rf"samples/{re.escape(sample)}/(messages|attachments)/(\d{{1,12}})\.json", name)
        if found:
            pieces[found.group(1)].append((int(found.group(2)), name))
    whole: dict[str, list[Any]] = {
        kind: [item for _, name in sorted(names) for item in sequence(parse_json(archive.read(name), nan_is_null=True))]
        for kind, names in pieces.items()
    }
    return {
        "messages": whole["messages"],
        "attachments": {str(index): content for index, content in enumerate(whole["attachments"])},
    }


def _sample(sample: dict[str, Any], header: dict[str, Any], turns: Turns) -> Decoded:
    talk = Conversation()
    attachments = mapping(sample.get("attachments"))
    listed = objects(sample.get("messages"))
    if not any(message.get("role") == "user" for message in listed):
        for message in messages_of(sample.get("input")):
            feed(talk, message)
    for raw in listed:
        _add_message(talk, raw, attachments)
    if not listed:
        for choice in objects(mapping(sample.get("output")).get("choices"))[:1]:
            _add_message(talk, mapping(choice.get("message")), attachments)
    problem = text(mapping(sample.get("error")), "message")
    if problem:
        talk.warn("sample with an error", f"the sample failed: {problem}")
    return talk.decoded(turns, **_fields(sample, header))


def _add_message(talk: Conversation, raw: dict[str, Any], attachments: dict[str, Any]) -> None:
    if attachments:
        raw = {**raw, "content": _attached(raw.get("content"), attachments)}
    error = raw.get("error")
    for message in messages_of(raw):
        if not isinstance(error, dict) or message.role != "tool":
            feed(talk, message)
            continue
        talk.tool_message()
        for part in message.parts:
            if isinstance(part, ToolResult):
                said = text(error, "message", "type")
                talk.result(part.id, part.result, name=part.name, is_error=True, error=said)


def _attached(content: Any, attachments: dict[str, Any]) -> Any:
    """Content with long texts and images in the place of the references to them."""
    if isinstance(content, str) and content.startswith(_ATTACHMENT):
        return attachments.get(content.removeprefix(_ATTACHMENT), content)
    if isinstance(content, list):
        return [
            {name: _attached(value, attachments) if isinstance(value, str) else value for name, value in part.items()}
            if isinstance(part, dict)
            else part
            for part in content
        ]
    return content


def _fields(sample: dict[str, Any], header: dict[str, Any]) -> dict[str, Any]:
    usages = [usage for usage in mapping(sample.get("model_usage")).values() if isinstance(usage, dict)]
    costs = [cost for usage in usages if (cost := number(usage, "total_cost")) is not None]
    seconds = number(sample, "total_time")
    target = sample.get("target")
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    fields = {
        "id": text(sample, "uuid") or f"{sample.get('id')}_epoch_{sample.get('epoch', 1)}",
        "ground_truth": target or None,
        "metadata": _metadata(sample, header),
        "usage": total([usage_of(usage) for usage in usages]),
        "cost": sum(costs) if costs else None,
        "model": text(header, "model"),
        "started_at": text(sample, "started_at"),
        "duration_ms": seconds * 1000 if seconds is not None else None,
        "trajectory": steps_of_events(sequence(sample.get("events"))),
    }
    return {name: value for name, value in fields.items() if value is not None}


def _metadata(sample: dict[str, Any], header: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(mapping(sample.get("metadata")))
    metadata |= {name: header[name] for name in ("task", "run_id") if text(header, name)}
    metadata |= {f"sample_{name}" if name == "id" else name: sample[name] for name in ("id", "epoch") if name in sample}
    scores = {
        name: score.get("value") for name, score in mapping(sample.get("scores")).items() if isinstance(score, dict)
    }
    if scores:
        metadata["scores"] = scores
    return metadata
