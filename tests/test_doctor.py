"""`referee doctor` and `referee completion`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from fault_endpoint import fault_endpoint
from judge_answers import answer
from referee.cli import main
from referee.cli.doctor import _numbers
from referee.storage import Store

SECRET = "sk-very-secret"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith("REFEREE_"):
            monkeypatch.delenv(name)


def referee(*words: str | Path) -> Result:
    return CliRunner().invoke(main, list(map(str, words)))


def findings(*words: str | Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for finding in json.loads(referee("doctor", "--json", *words).stdout)["findings"]:
        found.setdefault(finding["topic"], []).append(finding)
    return found


def test_nothing_set_is_no_problem() -> None:
    done = referee("doctor")
    assert done.exit_code == 0, done.output
    assert "no model is set" in done.output
    assert "no store is set" in done.output
    found = findings()
    assert found["core"][0]["state"] == "ok"
    assert "msgspec " in found["core"][0]["text"]
    assert {finding["name"] for finding in found["extra"]} == set(
        metadata.metadata("referee").get_all("Provides-Extra")
    )


def test_a_missing_extra_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version

    def version(name: str) -> str:
        if name == "pyarrow":
            raise metadata.PackageNotFoundError(name)
        return "0.1" if name == "msgspec" else real(name)

    monkeypatch.setattr("referee.cli.doctor.version", version)
    done = referee("doctor")
    assert done.exit_code == 1
    assert "pip install 'referee[parquet]' (pyarrow)" in done.output
    assert "msgspec 0.1 is older than" in done.output


def test_the_pytest_plugin_names_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    assert findings()["pytest"][0]["text"] == f"pytest-referee {real('pytest-referee')}, pytest {real('pytest')}"

    def version(name: str) -> str:
        if name == "pytest-referee":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr("referee.cli.doctor.version", version)
    done = referee("doctor")
    assert done.exit_code == 0
    assert "pip install pytest-referee (the fixtures expect_evals and expect_eval)" in done.output


def test_keys_are_found_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("REFEREE_MODEL", "openai/gpt-5-mini")
    for done in (referee("doctor"), referee("doctor", "--json")):
        assert done.exit_code == 0, done.output
        assert SECRET not in done.output
        assert "OPENAI_API_KEY" in done.output
    [model] = findings()["model"]
    assert model["text"] == "at https://api.openai.com/v1; not asked (--ask does)"
    assert "GROQ_API_KEY" in findings()["key"][-1]["text"]


@pytest.mark.parametrize(
    ("model", "told"),
    [("openai/gpt-5-mini", "set OPENAI_API_KEY"), ("gpt-5-mini", "write it as provider/model")],
)
def test_a_model_that_can_not_be_asked(model: str, told: str) -> None:
    done = referee("doctor", "--model", model)
    assert done.exit_code == 1
    assert told in done.output


@pytest.mark.parametrize(
    ("setting", "model"), [("REFEREE_BASE_URL", "local"), ("OPENAI_BASE_URL", "openai/gpt-5-mini")]
)
def test_a_wrong_address_names_its_setting(setting: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv(setting, "localhost:8080/v1")
    done = referee("doctor", "--model", model)
    assert done.exit_code == 1
    assert f"{setting} must be an address such as http://localhost:8080/v1" in done.output


def test_the_model_is_asked_only_when_told_so() -> None:
    with fault_endpoint(answer) as endpoint:
        quiet = referee("doctor", "--model", "ok", "--base-url", endpoint.base_url)
        assert quiet.exit_code == 0
        assert not endpoint.requests
    with fault_endpoint(lambda body: '{"value": true}') as endpoint:
        done = referee("doctor", "--model", "ok", "--base-url", endpoint.base_url, "--ask")
        assert done.exit_code == 0, done.output
        assert "it answers 'yes'" in done.output
        assert len(endpoint.requests) == 1


def test_a_model_that_fails_is_a_problem() -> None:
    with fault_endpoint(answer) as endpoint:
        done = referee("doctor", "--model", "401", "--base-url", endpoint.base_url, "--ask")
    assert done.exit_code == 1
    assert "PROBLEM" in done.output
    assert "Incorrect API key" in done.output


def test_the_store(tmp_path: Path) -> None:
    path = tmp_path / "scores.db"
    done = referee("doctor", "--store", path)
    assert done.exit_code == 0
    assert "no such file yet" in done.output
    assert not path.exists()
    Store(path).close()
    done = referee("doctor", "--store", path)
    assert done.exit_code == 0
    assert "0 experiments, 0 scores" in done.output
    path.write_bytes(b"no store" * 2000)
    done = referee("doctor", "--store", path)
    assert done.exit_code == 1
    assert "PROBLEM" in done.output


def test_a_store_s_password_is_not_shown() -> None:
    done = referee("doctor", "--store", f"postgresql://ann:{SECRET}@127.0.0.1:1/none")
    assert done.exit_code == 1
    assert SECRET not in done.output


def test_release_numbers() -> None:
    assert _numbers("1.10.0") == _numbers("1.10") > _numbers("1.9.9")
    assert _numbers("2.0.0rc1") == _numbers("2")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["scor"], "Did you mean 'score'?"),
        (["xyzzy"], "There are compare, "),
        (["run", "nothing.yaml"], "there is no suite nothing.yaml; `referee init` writes one"),
        (["score", "x.jsonl", "-s", "completness"], "did you mean completeness?"),
        (["score", "x.jsonl", "-s", "completeness=xx"], "'auto' to find it"),
        (["score", "x.jsonl"], "'referee scorers' lists them"),
        (["experiments", "list"], "--store scores.db, or set REFEREE_STORE"),
        (["studio", "nothing.db"], "referee score ... --store nothing.db"),
    ],
)
def test_mistakes_are_told_with_a_hint(words: list[str], told: str) -> None:
    done = referee(*words)
    assert done.exit_code == 2
    assert told in done.output
    assert "Traceback" not in done.output


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str) -> None:
    done = referee("completion", shell)
    assert done.exit_code == 0, done.output
    assert "_REFEREE_COMPLETE" in done.output


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("referee sc", {"score", "scorers", "scores"}),
        ("referee score --fail", {"--fail-under", "--fail-over"}),
        ("referee score runs.jsonl -s checks.tool_", {"checks.tool_calls", "checks.tool_order"}),
        ("referee datasets hi", {"history"}),
    ],
)
def test_what_a_shell_completes(words: str, wanted: set[str]) -> None:
    given = words.split(" ")
    environment = {
        **os.environ,
        "_REFEREE_COMPLETE": "bash_complete",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(given) - 1),
    }
    command = [str(Path(sys.executable).with_name("referee"))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert wanted <= {line.partition(",")[2] for line in done.stdout.splitlines()}, done
