"""`referee doctor`: what is installed, and whether the model and the store that are set can be used."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

import click
import msgspec
import regex

from referee import __version__
from referee.cli import EXIT_FAILED
from referee.cli.stores import ENVIRONMENT, echo_json
from referee.errors import JudgeError, MissingExtraError, OptionError, StoreError

State = Literal["ok", "none", "problem"]

#: One line of a package's requirements: name, least version and extra.
_REQUIREMENT = regex.compile(
    r"(?P<name>[\w.-]+)(?:\[[^\]]*\])?\s*(?:[^;]*?>=\s*(?P<least>[\d.]+))?[^;]*"
    r"""(?:;.*?extra\s*==\s*['"](?P<extra>[\w.-]+)['"].*)?"""
)
#: Keys of providers that are asked through Pydantic AI; those of the others stand in `judge.endpoints`.
_MORE_KEYS = ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "REFEREE_API_KEY")
_QUESTION = "Is the sky above the clouds blue? Answer yes or no."


class Finding(msgspec.Struct, frozen=True):
    """One line of the answer.

    Attributes:
        topic: `core`, `extra`, `pytest`, `key`, `model` or `store`.
        name: What was looked at.
        state: `ok`; `none`: it is not there, and need not be; `problem`: what is set does not work.
        text: What was found, and what to do about it.
    """

    topic: str
    name: str
    state: State
    text: str


@click.command()
@click.option("--model", help="The judge's model to look at, as provider/model; else REFEREE_MODEL.")
@click.option("--base-url", help="The address of an OpenAI-compatible endpoint; else REFEREE_BASE_URL.")
@click.option("--ask", is_flag=True, help="Ask the model one short question. Without it nothing is sent anywhere.")
@click.option(
    "--store", envvar=ENVIRONMENT, metavar="URL", help=f"The store to look at. [default: ${ENVIRONMENT}, if it is set]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def doctor(model: str | None, base_url: str | None, ask: bool, store: str | None, as_json: bool) -> None:
    """Say what is installed, which keys are there (never their value), and whether model and store can be used.

    \b
    Examples:
      referee doctor
      referee doctor --model ollama/qwen3 --ask
      referee doctor --store scores.db

    \b
    Exit codes, the first that applies:
      2  wrong usage
      1  something that is set does not work
      0  otherwise
    """
    findings = [*_packages(), _pytest_plugin(), *_keys(), _model(model, base_url, ask=ask), _store(store)]
    if as_json:
        about = {"version": __version__, "python": platform.python_version(), "platform": platform.platform(terse=True)}
        echo_json({**about, "findings": findings})
    else:
        _echo(findings)
    sys.exit(EXIT_FAILED if any(finding.state == "problem" for finding in findings) else 0)


def _echo(findings: list[Finding]) -> None:
    where = Path(__file__).parents[1]
    click.echo(f"referee {__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}, {where}")
    width = max(len(finding.name) for finding in findings)
    topic = None
    marks = {"ok": "ok     ", "none": "-      ", "problem": "PROBLEM"}
    for finding in findings:
        if finding.topic != topic:
            topic = finding.topic
            click.echo(f"\n{topic}")
        click.echo(f"  {marks[finding.state]}  {finding.name:<{width}}  {finding.text}".rstrip())


def _packages() -> Iterator[Finding]:
    """The packages of the core and of each extra: which are installed, and whether they are new enough."""
    needed: dict[str, list[tuple[str, str]]] = {}
    for line in requires("referee") or ():
        found = _REQUIREMENT.fullmatch(line)
        if found is not None:
            needed.setdefault(found["extra"] or "", []).append((found["name"], found["least"] or "0"))
    for extra, packages in needed.items():
        missing, old, there = [], [], []
        for name, least in packages:
            installed = _installed(name)
            if installed is None:
                missing.append(name)
            elif _numbers(installed) < _numbers(least):
                old.append(f"{name} {installed} is older than {least}")
            else:
                there.append(f"{name} {installed}")
        yield _package_finding(extra, missing, old, there)


def _package_finding(extra: str, missing: list[str], old: list[str], there: list[str]) -> Finding:
    topic, name = ("extra", extra) if extra else ("core", "packages")
    wanted = f"pip install --upgrade 'referee[{extra}]'" if extra else "pip install --upgrade referee"
    if old or (missing and not extra):
        return Finding(topic, name, "problem", f"{'; '.join([*old, *(f'{m} is missing' for m in missing)])}: {wanted}")
    if missing:
        return Finding(topic, name, "none", f"pip install 'referee[{extra}]' ({', '.join(missing)})")
    return Finding(topic, name, "ok", ", ".join(there))


def _pytest_plugin() -> Finding:
    """Whether pytest knows the fixtures without being told."""
    plugin, pytest = _installed("pytest-referee"), _installed("pytest")
    if plugin is None:
        text = "pip install pytest-referee (the fixtures expect_evals and expect_eval)"
        return Finding("pytest", "plugin", "none", text)
    return Finding("pytest", "plugin", "ok", f"pytest-referee {plugin}, pytest {pytest}")


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _numbers(text: str) -> list[int]:
    """The release numbers of a version, without zeros at the end: 1.10.0 is [1, 10]."""
    numbers = [int(number) for number in regex.split(r"[^\d.]", text, maxsplit=1)[0].split(".") if number]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def _keys() -> Iterator[Finding]:
    """Which keys are in the environment. Their values are read by nobody here."""
    from referee.judge.endpoints import PROVIDERS

    names = sorted({key for _, key in PROVIDERS.values() if key} | set(_MORE_KEYS))
    found = [name for name in names if os.environ.get(name)]
    for name in found:
        yield Finding("key", name, "ok", "is set")
    lacking = [name for name in names if name not in found]
    if lacking:
        yield Finding("key", "not set", "none", ", ".join(lacking))


def _model(model: str | None, base_url: str | None, *, ask: bool) -> Finding:
    name = model or os.environ.get("REFEREE_MODEL")
    if not name:
        return Finding("model", "judge", "none", "no model is set: judged scorers need --model or REFEREE_MODEL")
    try:
        from referee.judge import Judge

        judge = Judge(name, base_url=base_url, retries=0, timeout=60)
    except (OptionError, MissingExtraError) as error:
        return Finding("model", name, "problem", str(error))
    where = _address(name, base_url)
    if not ask:
        return Finding("model", name, "ok", f"{where}; not asked (--ask does)")
    from referee.loops import run_coroutine

    try:
        answer, usage = run_coroutine(judge.consult(_QUESTION, bool))
    except JudgeError as error:
        return Finding("model", name, "problem", f"{where}: {error}")
    said = "yes" if answer else "no"
    return Finding("model", name, "ok", f"{where}; it answers {said!r} in {usage.duration_ms / 1000:.1f} s")


def _address(name: str, base_url: str | None) -> str:
    from referee.judge.endpoints import find_endpoint

    endpoint = find_endpoint(name, base_url)
    return "through Pydantic AI" if endpoint is None else f"at {endpoint.host}"


def _store(url: str | None) -> Finding:
    if not url:
        return Finding("store", "store", "none", f"no store is set: commands need --store or {ENVIRONMENT}")
    if "://" not in url and not Path(url).is_file():
        return Finding("store", url, "none", "there is no such file yet; a command with --store makes it")
    try:
        from referee.storage import Store

        with Store(url) as store:
            found = store.info()
    except (StoreError, OptionError, MissingExtraError) as error:
        return Finding("store", "store", "problem", str(error))
    rows = f"{found.rows.get('experiments', 0):,} experiments, {found.rows.get('scores', 0):,} scores"
    return Finding(
        "store", found.address, "ok", f"{found.database}, schema {found.schema}, {found.bytes:,} bytes, {rows}"
    )
