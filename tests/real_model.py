"""A real language model for the system tests, fetched and started when the first test needs it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

HERE = Path(__file__).parent / "model"
#: Where the model is kept between runs.
FOLDER = Path(os.environ.get("REFEREE_TEST_MODEL", Path.home() / ".cache" / "referee-test-model"))
STARTING = 120.0


def need_model() -> Path:
    """The folder of the model; without it the test is skipped, which in CI is a failure (`conftest`)."""
    done = subprocess.run([sys.executable, HERE / "fetch.py", FOLDER], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"the test model can't be fetched: {done.stderr.strip()[-300:]}")
    return FOLDER


@contextmanager
def served_model(slots: int = 1) -> Iterator[str]:
    """The base URL of a running server of the model."""
    folder = need_model()
    command = [folder / "venv" / "bin" / "python", HERE / "serve.py", folder / "model.gguf", str(slots)]
    # Without passive waiting, the server's threads slow each other down when the cores are busy.
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    stopped = threading.Timer(STARTING, process.kill)
    stopped.start()
    try:
        assert process.stdout is not None
        address = next((line.strip() for line in process.stdout if line.startswith("http")), "")
        stopped.cancel()
        assert address, "the model's server did not start"
        with urllib.request.urlopen(f"{address}/health", timeout=STARTING) as response:
            assert response.status == 200
        yield f"{address}/v1"
        assert process.poll() is None, f"the model's server ended by itself: {process.returncode}"
    finally:
        stopped.cancel()
        process.terminate()
        process.wait(30)
        if process.stdout is not None:
            process.stdout.close()
