"""Processes that are killed while files are uploaded and deleted."""

from __future__ import annotations

import threading
import time
from contextlib import closing, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from tests.flows.caller import Caller
from tests.flows.office import open_office
from tests.flows.site import Site, running_site
from tests.flows.stored_files.asking import FILES, SCOPES, delete, form_of, get, uploaded
from tests.support.proofs import form
from tests.support.servers import running_gateway

ROUNDS = form(short=2, whole=20)
SIZE = 3 * 1024 * 1024


def upload_and_delete(caller: Caller, over: threading.Event, size: int = SIZE) -> None:
    """Upload files and delete every other one, until the server is gone."""
    kind, body = form_of(b"x" * size, filename="a.txt", purpose="user_data")
    headers = {"content-type": kind, "authorization": f"Bearer {caller.secret}"}
    number = 0
    while not over.is_set():
        connection = HTTPConnection("127.0.0.1", caller.port, timeout=10)
        with suppress(OSError, HTTPException, KeyError, ValueError), closing(connection):
            connection.request("POST", FILES, body=body, headers=headers)
            answer = connection.getresponse()
            file_id = answer.read().decode().partition('"id":"')[2][:29]
            number += 1
            if answer.status == 200 and number % 2:
                delete(caller, file_id)


def list_all(caller: Caller) -> list[dict[str, Any]]:
    """Return what all pages of the list have."""
    page = get(caller, "?limit=100").json
    files: list[dict[str, Any]] = page["data"]
    while page["has_more"]:
        page = get(caller, f"?limit=100&after={page['last_id']}").json
        files += page["data"]
    return files


def test_nothing_is_left_behind_by_kills(home: Path) -> None:
    with running_site(home) as site:
        caller = site.caller(scopes=SCOPES)
        kept = uploaded(caller)
    folder = home / "files"
    for number in range(ROUNDS):
        with running_gateway(home) as gateway:
            over, there = threading.Event(), caller.with_(port=gateway.port)
            threads = [
                threading.Thread(target=upload_and_delete, args=(there, over)) for _ in range(3)
            ]
            for thread in threads:
                thread.start()
            time.sleep(0.7 + 0.13 * number)
            gateway.process.kill()
            over.set()
            for thread in threads:
                thread.join()

    with running_gateway(home) as gateway, open_office(home) as office:
        again = caller.with_(port=gateway.port)
        office.do("clean_files", at_once=True)
        files, size_bytes = office.do("stored_bytes", workspace_id=caller.workspace_id)
        stored = [path for path in folder.glob("*/*") if path.is_file()]
        listed = list_all(again)

        assert kept in {file["id"] for file in listed}
        assert len(listed) == files == len(stored)
        assert sum(file["bytes"] for file in listed) == size_bytes
        for file in listed:
            assert len(get(again, f"/{file['id']}/content").body) == file["bytes"]


def test_the_counter_is_the_sum_of_the_files(site: Site, caller: Caller) -> None:
    """Uploads and deletions at once (F25)."""

    def work() -> None:
        for _ in range(4):
            delete(caller, uploaded(caller))
        uploaded(caller)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    files, _ = site.office.do("stored_bytes", workspace_id=caller.workspace_id)
    assert files == 4
