"""The serving process: `python -m gateway.launch.server`, with the arguments of uvicorn."""

from __future__ import annotations

from importlib import import_module

from gateway.edge.server import DrainingServer


def run() -> None:
    """Serve until SIGTERM or SIGINT. uvicorn has no option for another server, so its command line
    is handed ours. (`uvicorn.main` is the name of a function, too.)"""
    program = import_module("uvicorn.main")
    program.Server = DrainingServer  # type: ignore[attr-defined]
    program.main()


if __name__ == "__main__":
    run()
