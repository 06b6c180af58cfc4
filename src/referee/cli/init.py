"""`referee init`: a suite that works, to start from."""

from __future__ import annotations

import json
from pathlib import Path

import click

from referee.errors import OptionError
from referee.suites import suite_schema

_SUITE = """\
# yaml-language-server: $schema=referee.schema.json
name: weather

# What is asked: a function or an agent in Python (module:name), or one of
#   {url: "https://host/v1", model: name, api_key: "${API_KEY}"}    an OpenAI-compatible endpoint
#   {command: "node agent.js"}                                      a program: JSON in, JSON out
#   {runs: traces.jsonl}                                            recorded runs
target: agent:answer

# The items: inline as here, or the name of a .jsonl, .csv, .json or .yaml file.
data:
  - id: ghent
    input: What is the weather in Ghent?
    ground_truth: It is sunny in Ghent.
    expected_tool_calls: [{name: get_weather, args: {city: Ghent}}]
    tags: [one city]
  - id: thanks
    input: Thank you!
    gates: [checks.used_no_tools]
    tags: [small talk]

# What every item must hold.
gates:
  - checks.no_tool_errors
  - {checks.excludes: {unwanted: as an AI}}

# What is measured. A threshold is compared with the mean over the items.
scorers:
  - scorer: checks.tool_calls
    threshold: 1
  - completeness

reports: [report.html]
"""

_AGENT = '''\
"""A stand-in for an agent. Put your own in its place: it takes the input and gives text, messages or a run."""

from __future__ import annotations

import json


def answer(question: str) -> list[dict]:
    city = next((word.strip("?.!") for word in question.split() if word.strip("?.!") in WEATHER), None)
    if city is None:
        return [{"role": "assistant", "content": "You are welcome."}]
    call = {"name": "get_weather", "arguments": json.dumps({"city": city})}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "1", "content": json.dumps(WEATHER[city])},
        {"role": "assistant", "content": f"The weather in {city} is {WEATHER[city]['sky']}."},
    ]


WEATHER = {"Ghent": {"sky": "sunny"}, "Bruges": {"sky": "cloudy"}}
'''


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".")
def init(folder: Path) -> None:
    """Write a suite that works, with a small agent and the schema for editors, into FOLDER.

    \b
    Example:
      referee init && referee run suite.yaml
    """
    files = {
        "suite.yaml": _SUITE,
        "agent.py": _AGENT,
        "referee.schema.json": json.dumps(suite_schema(), indent=2, ensure_ascii=False) + "\n",
    }
    taken = [name for name in files if (folder / name).exists()]
    if taken:
        raise OptionError(f"{folder / taken[0]} is there already; give another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name).write_text(content, encoding="utf-8")
    except OSError as error:
        raise OptionError(f"{folder}: {error.strerror}") from None
    click.echo(f"wrote {', '.join(files)}; now run: referee run {folder / 'suite.yaml'}")
