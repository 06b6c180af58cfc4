"""Providers that are no OpenAI-compatible endpoint: asked through Pydantic AI, here Anthropic's protocol on 127.0.0.1."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from judge_answers import JUDGED, good_reply, museum_run
from referee import scorers
from referee.errors import EndpointError, OptionError
from referee.judge import Judge, Price

pytestmark = pytest.mark.system


@pytest.fixture(autouse=True)
def installed() -> None:
    """The packages are there; in CI a check that did not run has failed."""
    pytest.importorskip("pydantic_ai")
    pytest.importorskip("anthropic")


KEY = "sk-ant-planted-77f3a1"
FAULTS: dict[str, tuple[int, dict[str, Any]]] = {
    "claude-401": (401, {"type": "authentication_error", "message": f"invalid x-api-key {KEY}"}),
    "claude-400": (400, {"type": "invalid_request_error", "message": "prompt is too long"}),
}


class _Anthropic(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_arguments: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, error = FAULTS.get(body["model"], (200, {}))
        content = body["messages"][0]["content"]
        prompt = content if isinstance(content, str) else content[0]["text"]
        reply = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": good_reply(prompt)}],
            "stop_reason": "max_tokens" if body["model"] == "claude-cut-off" else "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 11, "output_tokens": 7},
        }
        data = json.dumps(reply if status == 200 else {"type": "error", "error": error}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture(autouse=True)
def anthropic(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Anthropic)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    yield
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("name", ["anthropic/claude-test", "anthropic:claude-test"])
def test_a_model_of_another_provider_judges_from_several_loops(name: str) -> None:
    judge = Judge(name, price=Price(input=1, output=1))
    scorer = scorers.create_faithfulness_scorer(judge, **JUDGED["create_faithfulness_scorer"])
    for score in (scorer.run_sync(museum_run()), asyncio.run(scorer.run(museum_run())), scorer.run_sync(museum_run())):
        assert score.score == 1.0, score
        assert score.judge is not None
        usage = score.judge["analyze"]
        assert (usage.model, usage.calls, usage.input_tokens, usage.output_tokens) == (name, 1, 11, 7)
        assert usage.cost == pytest.approx(18e-6)


@pytest.mark.parametrize(
    ("model", "words"), [("claude-401", "401"), ("claude-400", "prompt is too long"), ("claude-cut-off", "cut off")]
)
def test_failures_are_errors_with_their_words_and_without_the_key(model: str, words: str) -> None:
    score = scorers.create_rubric_scorer(Judge(f"anthropic/{model}", retries=0), criteria="x").run_sync(museum_run())
    assert score.error is not None
    assert words in score.error.message
    assert score.error.raw_reply
    assert KEY not in repr(score)


def test_log_probabilities_are_not_to_be_had() -> None:
    from referee.judge.forms import one_of

    with pytest.raises(EndpointError, match="OpenAI-compatible"):
        asyncio.run(Judge("anthropic/claude-test").ask("Good?", one_of("yes", "no")))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nobody/knows-this", "model 'nobody:knows-this': Unknown model"),
        ("anthropic/claude-test", "model 'anthropic:claude-test': Set the `ANTHROPIC_API_KEY` environment variable"),
    ],
)
def test_an_unknown_provider_or_a_missing_key_is_found_at_once(
    name: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(OptionError, match=words):
        Judge(name)
