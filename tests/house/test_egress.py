"""Who talks to the network: what import contracts cannot say of the standard library."""

from __future__ import annotations

import ast

from tests.house.tree import text_of, tracked

PACKAGES = ("gateway/", "accounts/", "keys/", "dashboard/")
# Modules and functions with which a program connects to others.
CLIENTS = {
    *("urllib.request", "http.client", "ftplib", "smtplib", "telnetlib", "xmlrpc.client"),
    *("urllib3", "pycurl", "websockets", "websocket"),
}
CALLS = {
    *("create_connection", "open_connection", "urlopen", "fetch_url", "fetch_response"),
    *("sock_connect", "start_connection"),
}
# Each with what it connects to.
ALLOWED = {
    "gateway/launch/ask_server.py": "the server of this installation",
    "gateway/launch/ready.py": "the server of this installation",
    "gateway/launch/redis_check.py": "Redis",
    "gateway/providers/transports/direct.py": "providers",
    "gateway/providers/transports/dialing.py": "providers",
    "gateway/providers/transports/httpx_connection.py": "providers",
    "gateway/services/batches/asking.py": "the server of this installation",
    "gateway/services/files/scanning.py": "the scanner of uploads",
    "gateway/stores/redis_connection.py": "Redis",
}


def connections_of(path: str) -> set[str]:
    """Return what a file has of the above."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text_of(path))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            found |= {name} & CALLS
    return {name for name in found if name in CALLS or is_client(name)}


def is_client(module: str) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in CLIENTS)


def test_nobody_else_connects_to_the_network() -> None:
    ours = [path for path in tracked(".py") if path.startswith(PACKAGES)]

    found = {path: names for path in ours if (names := connections_of(path))}

    assert {path: names for path, names in found.items() if path not in ALLOWED} == {}
    assert set(ALLOWED) == set(found)
