"""The nginx configuration in front of a running gateway: streams pass piece by piece."""

from __future__ import annotations

import http.client
import json
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.flows.site import Site, running_site
from tests.house.tree import text_of
from tests.support.ports import free_port
from tests.support.require import require_binary
from tests.support.waiting import wait_until

MAIN = """
daemon off; worker_processes 1; pid {folder}/pid; error_log stderr;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    include {folder}/tollhouse.conf;
}}
"""


@dataclass
class Proxied:
    site: Site
    https_port: int
    http_port: int
    opened: ExitStack

    def request(self, method: str, path: str, *, key: str = "", body: object = None) -> Answer:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.https_port, context=context, timeout=60
        )
        headers = {"Host": "gw.example.com", "Content-Type": "application/json"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        self.opened.callback(connection.close)
        connection.request(method, path, json.dumps(body) if body else None, headers)
        answer = connection.getresponse()
        self.opened.callback(answer.close)
        return answer


Answer = http.client.HTTPResponse


def make_certificate(folder: Path) -> None:
    openssl = require_binary("openssl", package="openssl")
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=gw"),
            *("-keyout", f"{folder}/tollhouse.key", "-out", f"{folder}/tollhouse.crt"),
        ],
        capture_output=True,
        timeout=60,
        check=True,
    )


@pytest.fixture(scope="module")
def proxied(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    nginx = require_binary("nginx", package="nginx")
    folder = tmp_path_factory.mktemp("nginx")
    home = Path(shutil.copytree(home_template, folder / "home"))
    https_port, http_port = free_port(), free_port()
    make_certificate(folder)
    env = {
        "TOLLHOUSE_PUBLIC_URL": "https://gw.example.com",
        "TOLLHOUSE_TRUSTED_PROXIES": "127.0.0.1/32",
    }
    with running_site(home, env=env) as site:
        conf = text_of("deploy/nginx/tollhouse.conf")
        for old, new in (
            ("127.0.0.1:8000", f"127.0.0.1:{site.gateway.port}"),
            ("listen 443 ssl", f"listen 127.0.0.1:{https_port} ssl"),
            ("listen 80", f"listen 127.0.0.1:{http_port}"),
            ("/etc/ssl/", f"{folder}/"),
        ):
            assert old in conf
            conf = conf.replace(old, new)
        (folder / "tollhouse.conf").write_text(conf)
        (folder / "nginx.conf").write_text(MAIN.format(folder=folder))
        command = [nginx, "-c", str(folder / "nginx.conf"), "-p", str(folder)]
        checked = subprocess.run(
            [*command, "-t"], capture_output=True, text=True, timeout=60, check=False
        )
        assert checked.returncode == 0, checked.stderr
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        try:
            with ExitStack() as opened:
                proxied = Proxied(site, https_port, http_port, opened)
                wait_until(lambda: answers(proxied), what="nginx to answer")
                yield proxied
        finally:
            process.terminate()
            process.wait(60)


def answers(proxied: Proxied) -> bool:
    try:
        return proxied.request("GET", "/healthz").status == 200
    except OSError:
        return False


def test_pieces_of_a_stream_pass_when_they_arrive(proxied: Proxied) -> None:
    caller = proxied.site.caller()
    script = "script:tokens=5&stall_after=2&gate=nginx"
    body = {
        "model": "fake-model",
        "stream": True,
        "max_tokens": 50,
        "messages": [{"role": "user", "content": script}],
    }

    answer = proxied.request("POST", "/v1/chat/completions", key=caller.secret, body=body)
    first = answer.readline()
    proxied.site.upstream.open_gate("nginx")
    rest = answer.read()

    assert answer.status == 200
    assert first.startswith(b"data: ")
    assert rest.rstrip().endswith(b"[DONE]")
    [record] = proxied.site.records(caller)
    assert record["status"] == "ok"
    assert answer.headers["strict-transport-security"]


def test_what_is_for_the_inside_is_not_passed(proxied: Proxied) -> None:
    statuses = [proxied.request("GET", path).status for path in ("/metrics", "/readyz", "/healthz")]

    plain = http.client.HTTPConnection("127.0.0.1", proxied.http_port, timeout=60)
    proxied.opened.callback(plain.close)
    plain.request("GET", "/sign-in?a=b", headers={"Host": "gw.example.com"})
    redirect = plain.getresponse()
    redirect.read()

    assert statuses == [404, 404, 200]
    assert redirect.status == 301
    assert redirect.headers["location"] == "https://gw.example.com/sign-in?a=b"
