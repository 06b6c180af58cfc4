"""An OpenAI-compatible endpoint on 127.0.0.1 that fails in every way an endpoint can. The model's name is the failure.

A name may be followed by `-once`: the first request of each question fails, the next ones are answered.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: What the endpoint answers when it does not fail: the request's body to the content of the reply.
Answer = Callable[[dict[str, Any]], str]


class FaultEndpoint(ThreadingHTTPServer):
    """The endpoint. `requests` holds the bodies that came in; `headers` those of the last request."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, answer: Answer) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        self.last_headers: dict[str, str] = {}
        self.seen: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.released = threading.Event()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def count(self, body: dict[str, Any]) -> int:
        """How often this question was asked before."""
        with self.lock:
            self.requests.append(body)
            question = f"{body['model']} {body['messages'][0]['content'][-200:]}"
            self.seen[question] += 1
            return self.seen[question] - 1


@contextmanager
def fault_endpoint(answer: Answer) -> Iterator[FaultEndpoint]:
    """Run the endpoint for the length of a `with` block."""
    endpoint = FaultEndpoint(answer)
    thread = threading.Thread(target=endpoint.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.released.set()
        endpoint.shutdown()
        endpoint.server_close()
        thread.join()


def completion(content: str | None, *, finish: str = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion with this content."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content, **message}}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def problem(message: str, code: str | None = None, kind: str = "invalid_request_error") -> dict[str, Any]:
    """An error in OpenAI's form."""
    return {"error": {"message": message, "type": kind, "code": code, "param": None}}


#: Failures that are a status and a body: name to status, body, headers.
STATUSES: dict[str, tuple[int, Any, dict[str, str]]] = {
    "429": (429, problem("slow down", "rate_limit_exceeded"), {}),
    "429-retry-after": (429, problem("slow down", "rate_limit_exceeded"), {"Retry-After": "0.01"}),
    "429-retry-after-ms": (429, problem("slow down", "rate_limit_exceeded"), {"Retry-After-Ms": "10"}),
    "429-retry-after-long": (429, problem("slow down", "rate_limit_exceeded"), {"Retry-After": "3600"}),
    "429-quota": (429, problem("You exceeded your current quota", "insufficient_quota", "insufficient_quota"), {}),
    "500": (500, problem("boom"), {}),
    "503-html": (503, "<html><h1>Service Unavailable</h1></html>", {}),
    "401": (401, problem("Incorrect API key provided", "invalid_api_key"), {}),
    "404": (404, problem("The model does not exist", "model_not_found"), {}),
    "context": (400, problem("This model's maximum context length is 10 tokens", "context_length_exceeded"), {}),
    "redirect": (302, "", {"Location": "http://127.0.0.1:9/elsewhere"}),
    "html": (200, "<!doctype html><title>Log in</title>", {}),
    "invalid-json": (200, '{"choices": [{"message": {"content": "', {}),
    "deep-json": (200, '{"choices": ' + "[" * 5000 + "]" * 5000 + "}", {}),
    "no-choices": (200, {"choices": []}, {}),
    "error-in-200": (200, problem("upstream failed"), {}),
    "refusal": (200, completion(None, refusal="I can't help with that."), {}),
    "filter": (200, completion("", finish="content_filter"), {}),
    "filter-400": (400, problem("The prompt triggered the content management policy", "content_filter"), {}),
    "empty": (200, completion(""), {}),
    "null": (200, completion(None), {}),
    "text": (200, completion("The answer is good."), {}),
}

#: Failures that change the content of a good reply: name to a function of the content.
CONTENTS: dict[str, Callable[[str], str]] = {
    "fence": lambda content: f"```json\n{content}\n```",
    "after-prose": lambda content: f"Let me think. {{maybe}} Here it is:\n\n{content}\n\nI hope this helps!",
    "after-thoughts": lambda content: f'<think>First {{"verdict": "no"}}.</think>\n{content}',
    "extra-fields": lambda content: json.dumps({**json.loads(content), "comment": "x", "score": 1}),
    "upper-case": lambda content: content.replace('"yes"', '" YES "').replace('"appropriate"', '"Appropriate\\n"'),
    "wrong-enum": lambda content: re.sub(r'"(?:yes|appropriate|exact|none|first)"', '"maybe"', content),
    "wrong-number": lambda content: re.sub(r": 1(?=[,}])", ": 7", content),
    "too-few": lambda content: json.dumps(_changed(json.loads(content), lambda entries: entries[:-1])),
    "too-many": lambda content: json.dumps(_changed(json.loads(content), lambda entries: [*entries, entries[-1]])),
    "unknown-id": lambda content: json.dumps(
        _changed(json.loads(content), lambda entries: [*entries[:-1], {**entries[-1], "id": "z9"}])
    ),
    "cut-off-json": lambda content: content[: len(content) // 2],
}


def _changed(reply: dict[str, Any], change: Callable[[list[Any]], list[Any]]) -> dict[str, Any]:
    """The reply with its list of verdicts changed; other replies stay."""
    return {
        name: change(value) if isinstance(value, list) and value and isinstance(value[0], dict) else value
        for name, value in reply.items()
    }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: FaultEndpoint

    def log_message(self, *_arguments: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.last_headers = dict(self.headers)
        before = self.server.count(body)
        fault = body["model"]
        if fault.endswith("-once"):
            fault = "ok" if before else fault.removesuffix("-once")
        try:
            self._fail_or_answer(fault, body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _fail_or_answer(self, fault: str, body: dict[str, Any]) -> None:
        if fault in STATUSES:
            status, content, headers = STATUSES[fault]
            self._send(status, content, headers)
        elif fault == "hang":
            self.server.released.wait(30)
            self.close_connection = True
        elif fault == "drip":
            self._drip()
        elif fault == "closed":
            self.connection.shutdown(socket.SHUT_RDWR)
            self.close_connection = True
        elif fault == "cut-off":
            content = self.server.answer(body)
            self._send(200, completion(content[: len(content) // 2], finish="length"))
        elif (refused := _refused(fault, body)) is not None:
            self._send(400, refused)
        else:
            self._send(200, completion(CONTENTS.get(fault, str)(self.server.answer(body))))

    def _send(self, status: int, content: Any, headers: dict[str, str] | None = None) -> None:
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if data[:1] == b"<" else "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _drip(self) -> None:
        """A reply that never ends: one byte after the other."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "100000")
        self.end_headers()
        end = time.monotonic() + 30
        while time.monotonic() < end and not self.server.released.wait(0.02):
            self.wfile.write(b" ")
            self.wfile.flush()


def _refused(fault: str, body: dict[str, Any]) -> dict[str, Any] | None:
    """Why a model that takes less than others refuses this request, or `None`."""
    form = body.get("response_format") or {}
    if fault == "no-limits-in-schema" and "maxLength" in json.dumps(form):
        return problem("Invalid schema for response_format 'answer': 'maxLength' is not permitted")
    if fault == "no-schema" and form.get("type") == "json_schema":
        return problem("This response_format type is unavailable now")
    if fault == "no-structure" and form:
        return problem("Unknown parameter: response_format")
    if fault == "no-temperature" and "temperature" in body:
        return problem("Unsupported value: 'temperature' does not support 0.0 with this model.", "unsupported_value")
    if fault == "newer-names" and "max_tokens" in body:
        return problem(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "unsupported_parameter",
        )
    return None
