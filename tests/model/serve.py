"""Serves a model over the OpenAI protocol: `FOLDER/venv/bin/python serve.py MODEL.gguf SLOTS`. Prints its address when it listens."""

from __future__ import annotations

import os
import signal
import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_parallel = int(sys.argv[2])
parameters.n_ctx = 8192 * parameters.n_parallel
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.ui = False
for threads in (parameters.cpuparams, parameters.cpuparams_batch):
    threads.n_threads = int(os.environ.get("THREADS", "1"))  # several threads wait for each other on busy cores
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
signal.sigwait([signal.SIGTERM, signal.SIGINT])
