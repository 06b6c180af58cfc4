"""Targets that are endpoints and commands, against a real local server and real programs."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from referee import OptionError, checks
from referee.evaluate import CommandTarget, HttpTarget, run_evals_sync
from referee.results import ItemResult

KEY = "sk-very-secret"


class Endpoint(ThreadingHTTPServer):
    """Answers chat completions: `requests` is what it was asked, `plan` the status and body of each answer to come."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.plan: list[tuple[int, bytes, dict[str, str]]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.path, dict(self.headers), body))
        status, content, headers = self.server.plan.pop(0) if self.server.plan else (200, _completion(body), {})
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _completion(body: dict[str, Any]) -> bytes:
    said = [message["content"] for message in body["messages"]]
    call = {"id": "c1", "type": "function", "function": {"name": "forecast", "arguments": '{"city": "Ghent"}'}}
    message = {"role": "assistant", "content": f"heard {said}", "tool_calls": [call]}
    return json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
        }
    ).encode()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def ask(target: Any, *inputs: Any, **options: Any) -> ItemResult:
    item = {"id": "i", "inputs": list(inputs), "context": {"user": 1}}
    return run_evals_sync(target=target, data=[item], scorers=[checks.called_tool("forecast")], **options).results[0]


def test_an_endpoint_hears_the_whole_conversation(endpoint: Endpoint) -> None:
    target = HttpTarget(f"{endpoint.url}/v1", "m", api_key=KEY, headers={"X-Team": "a"}, body={"temperature": 0})
    result = ask(target, "one", "two", target_options={"seed": 7})
    assert result.error is None
    run = result.run
    assert run is not None
    assert [call.name for call in run.tool_calls] == ["forecast", "forecast"]
    assert run.tool_calls[0].args == {"city": "Ghent"}
    assert (run.input_text, run.model, run.usage and run.usage.total) == ("one\ntwo", "m", 14)
    path, headers, body = endpoint.requests[1]
    assert (path, headers["Authorization"], headers["X-Team"]) == ("/v1/chat/completions", f"Bearer {KEY}", "a")
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert (body["seed"], body["temperature"]) == (7, 0)


def test_a_busy_endpoint_is_asked_again(endpoint: Endpoint) -> None:
    endpoint.plan = [(429, b"slow down", {"Retry-After": "0"}), (503, b"", {"Retry-After": "0.01"})]
    assert ask(HttpTarget(endpoint.url, "m"), "one").error is None
    assert len(endpoint.requests) == 3
    endpoint.plan = [(429, b"slow down", {"Retry-After": "0"})] * 9
    error = ask(HttpTarget(endpoint.url, "m"), "one").error
    assert error is not None
    assert "HTTP 429" in error.message


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (
            401,
            f"Incorrect API key: {KEY}".encode(),
            "HTTP 401 from http://127.0.0.1:.*: Incorrect API key: \\[hidden\\]",
        ),
        (500, b"<h1>\xff broken</h1>", "HTTP 500 .*broken"),
        (200, b"not json", "no JSON: not json"),
        (200, b'{"detail": "?"}', "without choices: .*detail"),
        (200, b'{"error": {"message": "quota"}}', "without choices: .*quota"),
        (200, b'{"choices": []}', "without choices"),
        (200, b'"Service is down"', "without choices: .*Service is down"),
        (200, b"[]", "without choices"),
    ],
)
def test_what_an_endpoint_does_wrong_is_an_error_without_the_key(
    endpoint: Endpoint, status: int, body: bytes, words: str
) -> None:
    endpoint.plan = [(status, body, {})]
    target = HttpTarget(endpoint.url, "m", api_key=KEY)
    error = ask(target, "one").error
    assert error is not None
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(error.message)
    assert KEY not in error.message
    assert KEY not in repr(target)


SECRET = "planted-header-secret"


@pytest.mark.parametrize("echo", [(200, b'"%s"'), (200, b"no json %s"), (302, b"%s"), (500, b"%s")])
def test_secrets_that_an_endpoint_repeats_are_kept_nowhere(
    endpoint: Endpoint, tmp_path: Path, echo: tuple[int, bytes]
) -> None:
    status, body = echo
    endpoint.plan = [(status, body % SECRET.encode(), {})]
    target = HttpTarget(endpoint.url, "m", headers={"Authorization": f"Bearer {SECRET}"})
    journal = tmp_path / "evals.jsonl"
    ask(target, "one", journal=journal)
    assert SECRET not in journal.read_text()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(endpoint: Endpoint, status: int) -> None:
    """It would take the key and the questions to an address that nobody named."""
    endpoint.plan = [(status, b"", {"Location": f"{endpoint.url}/elsewhere"})]
    error = ask(HttpTarget(endpoint.url, "m", headers={"X-Key": SECRET}), "one").error
    assert error is not None
    assert f"HTTP {status}" in error.message
    assert "redirects are not followed" in error.message
    assert len(endpoint.requests) == 1


def test_an_answer_without_end_is_given_up(endpoint: Endpoint) -> None:
    endpoint.plan = [(200, b" " * (16 * 1024 * 1024 + 1), {})]
    error = ask(HttpTarget(endpoint.url, "m"), "one").error
    assert error is not None
    assert "larger than 16,777,216 bytes" in error.message


@pytest.fixture
def trickle() -> Iterator[str]:
    """An endpoint that sends one byte after the other, each in good time."""
    stop = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            while not stop.wait(0.01):
                connection.sendall(b" ")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    stop.set()
    listener.close()
    thread.join()


def test_the_timeout_is_for_the_whole_answer(trickle: str) -> None:
    error = ask(HttpTarget(trickle, "m", timeout=0.2), "one").error
    assert error is not None
    assert "within 0.2 s" in error.message


@pytest.mark.parametrize("wait", ["nan", "-5", "Mon, 01 Jan 0001 00:00:00 -0000", "soon"])
def test_a_senseless_wait_is_no_wait(endpoint: Endpoint, wait: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("referee.evaluate.targets.http.asyncio.sleep", sleep)
    endpoint.plan = [(429, b"slow down", {"Retry-After": wait})]
    assert ask(HttpTarget(endpoint.url, "m"), "one").error is None
    assert waits in ([0.0], [1.0])


def test_the_query_of_an_address_stays_behind_its_path(endpoint: Endpoint) -> None:
    for url in ("/v1?api-version=2", "/v1/chat/completions?api-version=2", "/v1/?api-version=2"):
        ask(HttpTarget(endpoint.url + url, "m"), "one")
    assert {path for path, *_ in endpoint.requests} == {"/v1/chat/completions?api-version=2"}


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    for url in (f"https://user:{SECRET}@host/v1", f"ftp://user:{SECRET}@host", f"https://host:{SECRET}"):
        with pytest.raises(OptionError, match="the endpoint's address") as refused:
            HttpTarget(url, "m")
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "5", True])
def test_a_timeout_that_is_none(timeout: Any) -> None:
    with pytest.raises(OptionError, match="timeout is a number of seconds"):
        HttpTarget("http://localhost", "m", timeout=timeout)


def test_fields_that_are_no_json_are_refused_before_anything_is_asked(endpoint: Endpoint) -> None:
    with pytest.raises(OptionError, match="must be JSON"):
        ask(HttpTarget(endpoint.url, "m"), "one", target_options={"stop": {1}})
    assert not endpoint.requests


def test_a_program_keeps_its_variables_out_of_errors_and_needs_its_folder(tmp_path: Path) -> None:
    for source in ("sys.exit(os.environ['TOKEN'])", "print('no json', os.environ['TOKEN'])"):
        target = CommandTarget(program(tmp_path, source), env={"TOKEN": SECRET}, cwd=str(tmp_path))
        error = ask(target, "one").error
        assert error is not None
        assert "[hidden]" in error.message
        assert SECRET not in error.message
    with pytest.raises(OptionError, match=r"folder .*/nowhere is not there"):
        ask(CommandTarget("true", cwd=str(tmp_path / "nowhere")), "one")


def test_a_program_may_write_messages_as_its_output(tmp_path: Path) -> None:
    source = """
call = {"id": "1", "type": "function", "function": {"name": "forecast", "arguments": "{}"}}
said = [
    {"role": "assistant", "content": None, "tool_calls": [call]},
    {"role": "tool", "tool_call_id": "1", "content": "clear"},
    {"role": "assistant", "content": "heard " + asked["input"]},
]
print(json.dumps({"output": said, "cost": 0.25}))
"""
    result = ask(CommandTarget(program(tmp_path, source)), "one", "two")
    assert result.error is None
    run = result.run
    assert run is not None
    assert (run.input_text, run.output_text, run.cost) == ("one\ntwo", "heard one\nheard two", 0.5)
    assert [(call.name, call.result) for call in run.tool_calls] == [("forecast", "clear")] * 2


def test_an_endpoint_that_is_not_there(endpoint: Endpoint) -> None:
    endpoint.server_close()
    error = ask(HttpTarget(endpoint.url, "m"), "one").error
    assert error is not None
    assert f"no answer from {endpoint.url}" in error.message


@pytest.mark.parametrize("url", ["file:///etc/passwd", "localhost:8000", "", "http://"])
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(OptionError, match="address is like"):
        HttpTarget(url, "m")


def test_a_request_keeps_its_own_fields(endpoint: Endpoint) -> None:
    with pytest.raises(OptionError, match="own messages"):
        ask(HttpTarget(endpoint.url, "m"), "one", target_options={"messages": []})


def program(tmp_path: Path, source: str) -> list[str]:
    file = tmp_path / "agent.py"
    file.write_text(f"import json, os, sys\nasked = json.load(sys.stdin)\n{source}\n")
    return [sys.executable, str(file)]


def test_a_command_hears_the_whole_conversation(tmp_path: Path) -> None:
    source = (
        'call = {"id": "c", "type": "function", "function": {"name": "forecast", "arguments": "{}"}}\n'
        "text = f\"{asked['input']} {len(asked['history'])} {asked['context']} {asked['options']} {os.environ['TEAM']}\"\n"
        'json.dump([{"role": "assistant", "content": text, "tool_calls": [call]}], sys.stdout)'
    )
    target = CommandTarget(program(tmp_path, source), env={"TEAM": "a"})
    run = ask(target, "one", "two", target_options={"seed": 7}).run
    assert run is not None
    assert run.output_text == "one 0 {'user': 1} {'seed': 7} a\ntwo 2 {'user': 1} {'seed': 7} a"
    assert run.tool_names == ("forecast", "forecast")


@pytest.mark.parametrize(
    ("written", "text"),
    [('"It is sunny."', "It is sunny."), ('{"output": "It is sunny."}', "It is sunny."), ("[]", "")],
)
def test_what_a_command_may_write(tmp_path: Path, written: str, text: str) -> None:
    run = ask(CommandTarget(program(tmp_path, f"print({written!r})")), "one").run
    assert run is not None
    assert run.output_text == text


def test_data_is_never_part_of_the_command(tmp_path: Path) -> None:
    hostile = (
        f"$(touch {tmp_path}/made) ; touch {tmp_path}/made `touch {tmp_path}/made` | ' \" \n && touch {tmp_path}/made"
    )
    run = ask(CommandTarget(program(tmp_path, "json.dump(asked['input'], sys.stdout)")), hostile).run
    assert run is not None
    assert run.output_text == hostile
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            "print('Traceback', file=sys.stderr); print('ValueError: bad', file=sys.stderr); sys.exit(3)",
            "ended with 3: ValueError: bad",
        ),
        ("print('It is sunny.')", "wrote no JSON: 'It is sunny.'"),
        ("", "wrote no JSON: ''"),
        ("os.kill(os.getpid(), 9)", "ended with -9"),
    ],
)
def test_what_a_command_does_wrong_is_an_error(tmp_path: Path, source: str, words: str) -> None:
    error = ask(CommandTarget(program(tmp_path, source)), "one").error
    assert error is not None
    assert words in error.message


def test_a_command_that_is_not_there_or_no_command() -> None:
    error = ask(CommandTarget("no-such-program --x"), "one").error
    assert error is not None
    assert "no-such-program can't be started: No such file" in error.message
    for wrong in ("", "echo 'open", 5):
        with pytest.raises(OptionError):
            CommandTarget(wrong)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="must be JSON"):
        ask(CommandTarget("true"), "one", target_options={"x": object()})


def test_a_command_that_takes_too_long_is_ended_with_what_it_started(tmp_path: Path) -> None:
    source = (
        "import subprocess\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read()'], stdin=subprocess.PIPE)\n"
        f"open({str(tmp_path / 'pids')!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "child.wait()"
    )
    error = ask(CommandTarget(program(tmp_path, source)), "one", item_timeout=1.5).error
    assert error is not None
    assert error.error_class == "TimeoutError"
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        assert _is_gone(pid)


def _is_gone(pid: int) -> bool:
    """Whether the process has ended (or is a zombie that nobody has waited for yet)."""
    deadline = threading.Event()
    for _ in range(100):
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text().rpartition(")")[2].split()[0] in ("Z", "X"):
            return True
        deadline.wait(0.02)
    return False
