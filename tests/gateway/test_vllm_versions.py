"""vLLM servers are asked for their version, at most once an hour, and told what it takes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler

import pytest
from django.utils import timezone

from accounts.models import ConfigChange
from gateway.models import Provider
from gateway.services.providers import set_base_url, update_provider
from gateway.services.snapshot import compile_snapshot
from gateway.services.vllm_versions import ask_versions
from tests.factories import ACTOR, make_model, make_provider
from tests.gateway.test_commands import ask
from tests.support.http_server import serving
from tests.support.ports import free_port

pytestmark = pytest.mark.django_db

NOW = timezone.now()


class Server:
    """version: what it says; None: it has no such path. asked: each path, and who asked."""

    def __init__(self) -> None:
        self.version: object = "0.12.0"
        self.asked: list[tuple[str, str]] = []
        self.origin = ""


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append((self.path, self.headers.get("authorization", "")))
            self.send_response(200 if found.version is not None else 404)
            self.end_headers()
            self.wfile.write(json.dumps({"version": found.version}).encode())

        def log_message(self, format: str, *args: object) -> None:
            """Nobody reads it."""

    with serving(Handler) as http:
        found.origin = f"http://127.0.0.1:{http.server_port}"
        yield found


def add(server: Server, **fields: object) -> Provider:
    provider = make_provider("up", kind="vllm", base_url=f"{server.origin}/v1", **fields)
    make_model("ours", provider=provider, native_model="fake")
    return provider


def told() -> str:
    """Return what the model's target is told, as the snapshot has it."""
    [target] = compile_snapshot().models["ours"].targets
    return target.structured_dialect


def changes() -> int:
    return ConfigChange.objects.count()


@pytest.mark.parametrize(
    ("version", "dialect"),
    [
        ("0.12.0", "structured_outputs"),
        ("0.12.0rc1", "structured_outputs"),
        ("v0.13", "structured_outputs"),
        ("1.0.0", "structured_outputs"),
        ("0.11.2", "guided"),
        ("0.9.0.1", "guided"),
        ("0.11.1.dev5+g0abc", "guided"),
        ("0.1.dev1+g0abc", "structured_outputs"),
        ("dev", "structured_outputs"),
        ("", "structured_outputs"),
        (7, "structured_outputs"),
        (None, "structured_outputs"),
    ],
)
def test_guided_decoding_follows_the_version(server: Server, version: object, dialect: str) -> None:
    server.version = version
    provider = add(server, credential="sk-vllm-0123456789")
    assert (provider.structured_dialect, told()) == ("auto", "structured_outputs")
    before = changes()

    ask_versions(now=NOW)

    assert told() == dialect
    assert server.asked == [("/version", "Bearer sk-vllm-0123456789")]
    assert changes() - before == (dialect == "guided")


def test_a_server_is_asked_once_an_hour_and_a_change_is_told(server: Server) -> None:
    add(server)
    server.version = "0.11.0"
    ask_versions(now=NOW)
    server.version = "0.12.0"
    ask_versions(now=NOW + timedelta(minutes=59))
    assert (told(), len(server.asked)) == ("guided", 1)
    before = changes()

    ask_versions(now=NOW + timedelta(minutes=60))
    ask_versions(now=NOW + timedelta(minutes=120))

    assert (told(), len(server.asked)) == ("structured_outputs", 3)
    assert changes() == before + 1
    assert ask("set_provider", "up")["server_version"] == "0.12.0"


def test_what_a_server_said_holds_while_it_says_nothing(server: Server) -> None:
    add(server)
    server.version = "0.11.0"
    ask_versions(now=NOW)
    server.version = None

    ask_versions(now=NOW + timedelta(hours=2))

    assert told() == "guided"


def test_another_address_is_another_server(server: Server) -> None:
    provider = add(server)
    server.version = "0.11.0"
    ask_versions(now=NOW)

    set_base_url(provider, base_url=f"http://127.0.0.1:{free_port()}/v1", actor=ACTOR)

    assert told() == "structured_outputs"
    ask_versions(now=NOW)
    assert Provider.objects.get().version_asked_at == NOW


def test_only_where_it_is_automatic(server: Server) -> None:
    provider = add(server, structured_dialect="guided")
    make_provider("other", kind="openai_compatible", base_url=f"{server.origin}/v1")

    ask_versions(now=NOW)
    assert (told(), server.asked) == ("guided", [])

    update_provider(provider, structured_dialect="auto", actor=ACTOR)
    Provider.objects.update(enabled=False)
    ask_versions(now=NOW)
    assert server.asked == []
