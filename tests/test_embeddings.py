"""Embedding similarity over a local endpoint: what is asked, what fails, what is kept."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee import Score, load_scorer, scorers
from referee.errors import OptionError
from referee.judge import Judge, Price
from referee.judge.embeddings import Embedding, EmbeddingModel, cosine
from referee.testing import create_agent_test_run

KEY = "sk-embedding-key-0123456789"
VECTORS = {
    "At nine.": [3.0, 4.0],
    "It leaves at nine.": [4.0, 3.0],
    "No.": [-3.0, -4.0],
    "Nothing": [0.0, 0.0],
    "Long": [1.0],
}


class Endpoint(ThreadingHTTPServer):
    """Gives the vectors of known texts, after the replies that a test wants first."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str | None, dict[str, Any]]] = []
        self.first: list[tuple[int, str]] = []

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, self.headers["Authorization"], body))
        status, content = self.server.first.pop(0) if self.server.first else (200, json.dumps(_reply(body["input"])))
        self.send_response(status)
        self.send_header("Content-Length", str(len(content.encode())))
        self.end_headers()
        self.wfile.write(content.encode())


def _reply(text: str) -> dict[str, Any]:
    vector = {"object": "embedding", "index": 0, "embedding": VECTORS[text]}
    return {"object": "list", "data": [vector], "model": "m", "usage": {"prompt_tokens": 4, "total_tokens": 4}}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    running = Endpoint()
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("referee.judge.retry._FIRST_WAIT", 0.001)


def score_of(endpoint: Endpoint, answer: str = "It leaves at nine.", right: str = "At nine.", **options: Any) -> Score:
    model = EmbeddingModel("tiny", base_url=endpoint.base_url, api_key=KEY, price=Price(1.0, 0.0))
    scorer = scorers.create_embedding_similarity_scorer(Judge(model, retries=1, **options))
    return scorer.run_sync(create_agent_test_run(output=answer, ground_truth=right))


def test_the_score_is_the_cosine(endpoint: Endpoint) -> None:
    score = score_of(endpoint)
    assert score.score == pytest.approx(0.96)
    assert score.reason == "the cosine of the embeddings of the answer and the right answer is 0.96"
    assert sorted(endpoint.asked, key=str) == [
        ("/v1/embeddings", f"Bearer {KEY}", {"model": "tiny", "input": text})
        for text in ("At nine.", "It leaves at nine.")
    ]
    assert score.judge is not None
    usage = score.judge["generate_score"]
    assert (usage.calls, usage.input_tokens, usage.output_tokens, usage.cost) == (2, 8, 0, pytest.approx(8e-6))


def test_opposite_texts_score_zero(endpoint: Endpoint) -> None:
    assert score_of(endpoint, answer="No.").score == 0.0


def test_nothing_is_asked_when_there_is_nothing_to_compare(endpoint: Endpoint) -> None:
    assert score_of(endpoint, answer=" ").not_scorable is not None
    assert score_of(endpoint, right="").not_scorable is not None
    assert endpoint.asked == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failure_that_passes_is_asked_again(endpoint: Endpoint, status: int) -> None:
    endpoint.first = [(status, "{}")]
    assert score_of(endpoint).score == pytest.approx(0.96)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ((401, json.dumps({"error": {"message": f"bad key {KEY}"}})), "401: bad key"),
        ((200, "<html>"), "web page"),
        ((200, '{"data": []}'), "0 embeddings"),
        ((200, '{"data": [{"embedding": "AAAA"}]}'), "gave no completion"),
        ((200, '{"data": [{"embedding": [1, null]}]}'), "gave no completion"),
    ],
)
def test_a_failure_is_an_error_and_never_a_score(endpoint: Endpoint, reply: tuple[int, str], words: str) -> None:
    endpoint.first = [reply] * 9
    score = score_of(endpoint)
    assert score.score is None
    assert score.error is not None
    assert words in score.error.message
    assert KEY not in f"{score}"


@pytest.mark.parametrize(("answer", "words"), [("Nothing", "no direction"), ("Long", "dimensions")])
def test_vectors_that_can_not_be_compared_are_an_error(endpoint: Endpoint, answer: str, words: str) -> None:
    score = score_of(endpoint, answer=answer)
    assert score.error is not None
    assert words in score.error.message


def test_a_cache_keeps_vectors(endpoint: Endpoint, tmp_path: Path) -> None:
    first = score_of(endpoint, cache=tmp_path / "vectors.sqlite")
    second = score_of(endpoint, cache=tmp_path / "vectors.sqlite")
    assert first.score == second.score
    assert len(endpoint.asked) == 2


def test_without_a_model_the_scorer_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REFEREE_EMBEDDING_MODEL", raising=False)
    with pytest.raises(OptionError, match="REFEREE_EMBEDDING_MODEL"):
        scorers.create_embedding_similarity_scorer()
    monkeypatch.setenv("REFEREE_EMBEDDING_MODEL", "ollama/nomic-embed-text")
    assert not scorers.create_embedding_similarity_scorer().needs_judge
    with pytest.raises(OptionError, match="give base_url"):
        EmbeddingModel("anthropic/embed")
    with pytest.raises(OptionError, match="expected"):
        scorers.create_embedding_similarity_scorer(expected=" ")


def test_plain_data_makes_the_same_scorer() -> None:
    scorer = scorers.create_embedding_similarity_scorer("ollama/nomic-embed-text", expected="At nine.")
    assert load_scorer(scorer.spec).version == scorer.version
    other = scorers.create_embedding_similarity_scorer("ollama/other", expected="At nine.")
    assert other.version != scorer.version


@given(st.lists(st.floats(-1e6, 1e6).filter(lambda number: abs(number) > 1e-6), min_size=1, max_size=8))
def test_a_vector_is_nearest_to_itself_and_farthest_from_its_opposite(numbers: list[float]) -> None:
    vector, opposite = Embedding(numbers), Embedding([-number for number in numbers])
    assert cosine(vector, vector) == pytest.approx(1.0)
    assert cosine(vector, opposite) == pytest.approx(-1.0)
