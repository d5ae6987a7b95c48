"""`python -m bench.pages`: how long pages take, and what they cost the calls beside them.

On a home that `manage.py seed_load` has filled, with the same DATABASE_URL. First each page by
itself; then calls at an even pace, alone and with four people on the overview of 30 days and an
export that never ends. Nothing is pinned to a core.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import multiprocessing
import os
import re
import sys
import time
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from bench.caller import request_bytes
from bench.page_list import OVERVIEW, Facts, Page, all_pages
from bench.programs import ROOT, BenchError
from bench.samples import percentile
from bench.served_home import ServedHome, load
from gateway.services.load_seed.access import LoadAccess, read_access

VIEWS = 20
GOAL_MS = 150
QUIET_S = 10.0
BUSY_S = 20.0
PEOPLE = 4
CONNECTIONS = 5
CALLS_PER_S = 100
EXPORT = "/calls.csv?period=30d"
_CALL_OF_ROW = re.compile(r"/calls/([0-9a-f-]{36})")


class Person(NamedTuple):
    """Who is signed in. cookie: of the session; workspace: where its pages begin, /w/<slug>."""

    cookie: str
    workspace: str


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.pages", description=__doc__)
    parser.add_argument("--home", type=Path, help="default <TOLLHOUSE_HOME>")
    parser.add_argument("--only", choices=("pages", "load"))
    parser.add_argument("--match", default="", help="only pages with this in their label")
    parser.add_argument("--views", type=int, default=VIEWS, help="of each page")
    parser.add_argument("--out", type=Path, help="a JSON file for the figures of pages")
    options = parser.parse_args()
    home = (options.home or Path(os.environ.get("TOLLHOUSE_HOME") or ROOT / "var")).resolve()
    try:
        access = read_access(home)
    except OSError as error:
        print(f"{error}. Fill the home with `manage.py seed_load` first.", file=sys.stderr)
        return 1
    with ServedHome(home).running() as server:
        port = server.port
        person = sign_in(port, access)
        if options.only != "load":
            facts = find_facts(port, person, access)
            pages = [page for page in all_pages(facts) if options.match in page.label]
            figures = show_pages(port, pages, person, access.secrets[0], views=options.views)
            if options.out:
                options.out.write_text(json.dumps(figures))
        if options.only != "pages":
            show_load(port, person, access.secrets[0], access.model)
    return 0


def find_facts(port: int, person: Person, access: LoadAccess) -> Facts:
    """Return what addresses are made of."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    path = f"{person.workspace}/calls?period=all"
    connection.request("GET", path, headers={"Cookie": person.cookie})
    call = _CALL_OF_ROW.search(connection.getresponse().read().decode())
    connection.close()
    if call is None:
        raise BenchError(f"{path} has no calls")
    return Facts(
        workspace=person.workspace,
        days=access.days,
        entries=access.entries,
        key=access.busy_key,
        rare_key=access.rare_key,
        call=call[1],
    )


def show_pages(
    port: int, pages: list[Page], person: Person, key: str, *, views: int
) -> dict[str, tuple[float, float]]:
    """Print and return the median and the 95th percentile of each page, loaded one at a time."""
    print(f"{'page':50} {'p50 ms':>9} {'p95 ms':>9}")
    figures: dict[str, tuple[float, float]] = {}
    for page in pages:
        headers = {"Authorization": f"Bearer {key}"} if page.is_api else {"Cookie": person.cookie}
        taken_s = [load(port, page.address(), headers) for _ in range(views + 1)][1:]
        half, most = (percentile(taken_s, share) * 1000 for share in (0.5, 0.95))
        figures[page.label] = (half, most)
        mark = " above the goal" if most > GOAL_MS else ""
        print(f"{page.label:50} {half:9.1f} {most:9.1f}{mark}", flush=True)
    slow = sum(most > GOAL_MS for _, most in figures.values())
    print(f"{len(figures)} pages, {slow} with a p95 above {GOAL_MS} ms.")
    return figures


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


def sign_in(port: int, access: LoadAccess) -> Person:
    """Sign in with the password. Raises BenchError."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/sign-in")
    page = connection.getresponse()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page.read().decode())
    given = re.search(r"tollhouse_csrf=[^;]+", page.headers.get("Set-Cookie", ""))
    if token is None or given is None:
        raise BenchError("the sign-in page has no form")
    fields = {"csrfmiddlewaretoken": token[1], "login": access.email, "password": access.password}
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
            return Person(session, f"/w/{access.slug}")
    raise BenchError(f"signing in answered {answer.status}")


if __name__ == "__main__":
    sys.exit(main())
