"""Keys stay where they belong: a planted key is looked for in everything that is shown or kept."""

from __future__ import annotations

import asyncio
import json
import logging
from base64 import b64encode
from pathlib import Path
from typing import Any

import msgspec
import pytest

from fault_endpoint import STATUSES, completion, fault_endpoint, problem
from judge_answers import JUDGED, answer, museum_run
from referee import scorers
from referee.judge import Judge, judge_for
from referee.judge.endpoints import find_endpoint

KEY = "sk-planted-3f9a7c51d2e84b06"
PASSWORD = "planted-password-77aa"
TOKEN = "planted-token-c0ffee"


def echoing(body: dict[str, Any]) -> str:
    """A model that repeats the key in its reasons."""
    return answer(body).replace('"..."', json.dumps(f"because of {KEY}"))


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("fault", ["ok", "leaks", "leaks-page", "hang", "closed", "refusal", "cut-off-json"])
@pytest.mark.parametrize("factory", JUDGED)
def test_a_planted_key_is_nowhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    fault: str,
    factory: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setitem(STATUSES, "leaks", (401, problem(f"Incorrect API key provided: {KEY}"), {}))
    monkeypatch.setitem(STATUSES, "leaks-page", (502, f"<html>Authorization: Bearer {KEY}</html>", {}))
    monkeypatch.setitem(STATUSES, "refusal", (200, completion(None, refusal=f"I know {KEY}."), {}))
    with fault_endpoint(echoing) as endpoint:
        address = f"{endpoint.base_url}?token={TOKEN}"
        judge = Judge(f"openai/{fault}", base_url=address, cache=tmp_path / "judge.sqlite", timeout=0.1, retries=0)
        scorer = getattr(scorers, factory)(judge, **JUDGED[factory])
        score = scorer.run_sync(museum_run())
        if fault != "hang":
            assert endpoint.last_headers["Authorization"] == f"Bearer {KEY}"
        shown = [repr(judge), repr(judge.fingerprint), repr(score), str(score.to_mastra()), repr(scorer.spec)]
        shown += [msgspec.json.encode(score).decode(), str(scorer.version), caplog.text, *capfd.readouterr()]
        try:
            asyncio.run(judge.ask("Polite?", str))
        except Exception as error:
            shown += [str(error), repr(error), repr(vars(error))]
        asyncio.run(judge.close())
    for secret in (KEY, TOKEN):
        assert not [text for text in shown if secret in text]
        assert secret.encode() not in everything(tmp_path)


def test_an_endpoint_does_not_show_its_key() -> None:
    endpoint = find_endpoint("m", f"http://user:{PASSWORD}@localhost:1/v1?token={KEY}", KEY, environ={})
    assert KEY not in repr(endpoint)
    assert PASSWORD not in repr(endpoint)


def test_a_password_in_the_address_is_sent_and_shown_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STATUSES, "leaks", (401, problem(f"Wrong password {PASSWORD}"), {}))
    with fault_endpoint(answer) as endpoint:
        address = endpoint.base_url.replace("http://", f"http://user:{PASSWORD}@")
        score = scorers.create_rubric_scorer(Judge("leaks", base_url=address), criteria="x").run_sync(museum_run())
        assert endpoint.last_headers["Authorization"] == "Basic " + b64encode(f"user:{PASSWORD}".encode()).decode()
    assert score.error is not None
    assert "Wrong password [hidden]" in score.error.message
    assert PASSWORD not in repr(score)


def test_a_key_goes_to_its_own_provider_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with fault_endpoint(answer) as endpoint:
        monkeypatch.setenv("REFEREE_BASE_URL", endpoint.base_url)
        score = scorers.create_rubric_scorer("ok", criteria="Is polite.").run_sync(museum_run())
        assert score.score == 1.0
        assert "Authorization" not in endpoint.last_headers
        asyncio.run(judge_for("ok").close())
