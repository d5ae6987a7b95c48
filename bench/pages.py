"""`python -m bench.pages`: how long pages take, and what they cost the calls beside them.

On the home that `python -m bench.large_database` has made. First each page by itself; then calls at
an even pace, alone and with four people on the overview of 30 days and an export that never ends.
Nothing is pinned to a core.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from bench.caller import request_bytes
from bench.large_database import EMAIL, PASSWORD
from bench.programs import ROOT, BenchError, environment
from bench.samples import percentile
from gateway.launch.programs import server_command
from tests.support.ports import free_port

START_S = 60
VIEWS = 20
QUIET_S = 10.0
BUSY_S = 20.0
PEOPLE = 4
CONNECTIONS = 5
CALLS_PER_S = 100
# Of the workspace that the person is led to from "/".
OVERVIEW = "?period=30d"
PAGES = (
    *(OVERVIEW, "?period=24h", "?period=7d", "/keys", "/members", "/calls", "/credits", "/audit"),
    "/audit?q=nothing-like-it",
)
USAGE = "/v1/usage?group_by=key,day"
USAGE_DAYS = 90
EXPORT = "/calls.csv?period=30d"


class Person(NamedTuple):
    """Who is signed in. cookie: of the session; workspace: where its pages begin, /w/<slug>."""

    cookie: str
    workspace: str


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.pages", description=__doc__)
    parser.add_argument("--home", type=Path, help="default <TOLLHOUSE_HOME>/bench/large")
    parser.add_argument("--only", choices=("pages", "load"))
    options = parser.parse_args()
    home = options.home or Path(os.environ.get("TOLLHOUSE_HOME") or ROOT / "var") / "bench/large"
    facts = json.loads((home / "bench.json").read_text())
    with running_server(home.resolve()) as port:
        person = sign_in(port)
        if options.only != "load":
            show_pages(port, person, facts["secret"])
        if options.only != "pages":
            show_load(port, person, facts["secret"], facts["model"])
    return 0


def show_pages(port: int, person: Person, key: str) -> None:
    """Print the median and the 95th percentile of each page, loaded one at a time."""
    print(f"{'page':34} {'p50 ms':>9} {'p95 ms':>9}")
    start = time.strftime("%Y-%m-%d", time.gmtime(time.time() - USAGE_DAYS * 86_400))
    asked = [(person.workspace + path, {"Cookie": person.cookie}) for path in PAGES]
    asked.append((f"{USAGE}&start={start}", {"Authorization": f"Bearer {key}"}))
    for path, headers in asked:
        taken_s = [load(port, path, headers) for _ in range(VIEWS + 1)][1:]
        half, most = (percentile(taken_s, share) * 1000 for share in (0.5, 0.95))
        print(f"{path:34} {half:9.1f} {most:9.1f}", flush=True)


def show_load(port: int, person: Person, key: str, model: str) -> None:
    """Print the latencies of calls alone, and beside people and an export."""
    print(f"\n{'calls':34} {'p50 ms':>9} {'p99 ms':>9} {'most ms':>9} {'calls':>7} {'failed':>7}")
    request = request_bytes(port, key, model)
    asyncio.run(pace(port, request, 2.0))
    show_calls("quiet", *asyncio.run(pace(port, request, QUIET_S)))
    stop = multiprocessing.Event()
    views: multiprocessing.Queue[float] = multiprocessing.Queue()
    crowd = [
        multiprocessing.Process(target=browse, args=(port, person, stop, views))
        for _ in range(PEOPLE)
    ]
    crowd.append(multiprocessing.Process(target=export, args=(port, person, stop)))
    for each in crowd:
        each.start()
    try:
        time.sleep(1.0)
        show_calls("beside 4 people and an export", *asyncio.run(pace(port, request, BUSY_S)))
    finally:
        stop.set()
        taken_s = [views.get() for _ in range(PEOPLE)]
        for each in crowd:
            each.join()
    print(f"The four loaded the overview in {sum(taken_s) / PEOPLE * 1000:.0f} ms on average.")
    show_calls("quiet again", *asyncio.run(pace(port, request, QUIET_S)))


def show_calls(label: str, taken_s: list[float], failed: int) -> None:
    half, most = (percentile(taken_s, share) * 1000 for share in (0.5, 0.99))
    longest = max(taken_s, default=0.0) * 1000
    print(
        f"{label:34} {half:9.2f} {most:9.2f} {longest:9.1f} {len(taken_s):7} {failed:7}", flush=True
    )


async def pace(port: int, request: bytes, duration_s: float) -> tuple[list[float], int]:
    """Make calls at an even pace; return how long each took from when it was due, and failures."""
    taken_s: list[float] = []
    failed = 0
    began = time.perf_counter()

    async def call_on(number: int) -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        due = began + number / CALLS_PER_S
        while due < began + duration_s:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            sent = max(due, time.perf_counter() - 0.001) if len(taken_s) else time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            assert length is not None
            await reader.readexactly(int(length[1]))
            if head.startswith(b"HTTP/1.1 200"):
                taken_s.append(time.perf_counter() - sent)
            else:
                failed += 1
            due += CONNECTIONS / CALLS_PER_S
        writer.close()

    await asyncio.gather(*map(call_on, range(CONNECTIONS)))
    return taken_s, failed


def browse(port: int, person: Person, stop: Event, views: multiprocessing.Queue[float]) -> None:
    """Load the overview again and again; put the mean of the seconds it took."""
    taken_s = []
    while not stop.is_set():
        taken_s.append(load(port, person.workspace + OVERVIEW, {"Cookie": person.cookie}))
    views.put(sum(taken_s) / max(1, len(taken_s)))


def export(port: int, person: Person, stop: Event) -> None:
    """Read the export, and begin it again when it has ended."""
    while not stop.is_set():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        path = person.workspace + EXPORT
        connection.request("GET", path, headers={"Cookie": person.cookie})
        answer = connection.getresponse()
        while not stop.is_set() and answer.read(65_536):
            pass
        connection.close()


def load(port: int, path: str, headers: dict[str, str]) -> float:
    """Return how many seconds an address took. Raises BenchError unless it answers 200."""
    began = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != 200:
        raise BenchError(f"{path} answered {answer.status}")
    return time.perf_counter() - began


def sign_in(port: int) -> Person:
    """Sign in with the password. Raises BenchError."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/sign-in")
    page = connection.getresponse()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.read().decode())
    given = re.search(r"tollhouse_csrf=[^;]+", page.headers.get("Set-Cookie", ""))
    if token is None or given is None:
        raise BenchError("the sign-in page has no form")
    fields = {"csrfmiddlewaretoken": token[1], "login": EMAIL, "password": PASSWORD}
    origin = f"http://127.0.0.1:{port}"
    headers = {
        "Cookie": given[0],
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": origin,
    }
    connection.request("POST", "/sign-in", urlencode(fields), headers)
    answer = connection.getresponse()
    answer.read()
    for cookie in answer.headers.get_all("Set-Cookie", []):
        if cookie.startswith("tollhouse_session="):
            session = cookie.split(";")[0]
            connection.request("GET", "/", headers={"Cookie": session})
            return Person(session, connection.getresponse().headers["Location"])
    raise BenchError(f"signing in answered {answer.status}")


@contextmanager
def running_server(home: Path) -> Iterator[int]:
    """Serve the home on a free port, bringing its database up to date first."""
    environ = environment(home, ROOT, {}) | {"DJANGO_SETTINGS_MODULE": "gateway.settings"}
    for command in ("migrate", "collectstatic"):
        arguments = [sys.executable, "manage.py", command, "--no-input", "--verbosity", "0"]
        subprocess.run(arguments, cwd=ROOT, env=environ, check=True)
    port = free_port()
    with tempfile.TemporaryFile() as log:
        serve = server_command(host="127.0.0.1", port=port)
        server = subprocess.Popen(serve, cwd=ROOT, env=environ, stdout=log, stderr=log)
        try:
            wait_until_listening(port, server)
            yield port
        finally:
            server.terminate()
            server.wait()
            log.seek(0)
            sys.stderr.write(log.read().decode()[-2000:])


def wait_until_listening(port: int, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_S
    while server.poll() is None and time.monotonic() < deadline:
        try:
            load(port, "/sign-in", {})
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise BenchError("the server did not start")


if __name__ == "__main__":
    sys.exit(main())
