"""Uploads at once: together they store no more than their workspace may."""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing, suppress
from http.client import HTTPResponse

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.stored_files.asking import FILES, delete, form_of, get, upload, uploaded
from tests.support.waiting import wait_until

KB = 1024
# Half of it is more than a server keeps before it begins the file.
SIZE = 3_000 * KB


def begin(caller: Caller, *, chunked: bool) -> tuple[socket.socket, bytes]:
    """Send the first half of an upload, and return its connection and the second half."""
    kind, body = form_of(b"x" * SIZE, filename="a.txt", purpose="user_data")
    length = "transfer-encoding: chunked" if chunked else f"content-length: {len(body)}"
    head = f"POST {FILES} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n{length}\r\n"
    head += f"authorization: Bearer {caller.secret}\r\nconnection: close\r\n\r\n"
    halves = [body[: len(body) // 2], body[len(body) // 2 :]]
    if chunked:
        halves = [b"%x\r\n%b\r\n" % (len(half), half) for half in halves]
        halves[1] += b"0\r\n\r\n"
    link = socket.create_connection(("127.0.0.1", caller.port), timeout=60)
    link.sendall(head.encode() + halves[0])
    return link, halves[1]


def end(link: socket.socket, rest: bytes) -> int:
    with suppress(ConnectionError):  # refused: the answer is there
        link.sendall(rest)
    with closing(link), closing(HTTPResponse(link)) as response:
        response.begin()
        response.read()
        return response.status


@pytest.mark.parametrize("chunked", [False, True])
def test_uploads_at_once_do_not_pass_the_quota(site: Site, caller: Caller, chunked: bool) -> None:
    limits = {"max_storage_bytes": 3 * SIZE + 64 * KB}
    site.office.do("storage_limits", workspace_id=caller.workspace_id, **limits)

    with ExitStack() as stack:
        begun = [begin(caller, chunked=chunked) for _ in range(6)]
        for link, _ in begun:
            stack.callback(link.close)
        statuses = [end(link, rest) for link, rest in begun]

    assert sorted(statuses) == [200] * 3 + [403] * 3
    used = site.office.do("stored_bytes", workspace_id=caller.workspace_id)
    assert used == [3, 3 * SIZE]


def test_what_a_running_upload_needs_is_not_given_away(site: Site, caller: Caller) -> None:
    limits = {"max_storage_bytes": 2 * SIZE, "max_files": 2}
    site.office.do("storage_limits", workspace_id=caller.workspace_id, **limits)

    link, rest = begin(caller, chunked=False)
    wait_until(lambda: site.office.do("reserved_files", workspace_id=caller.workspace_id) == 1)
    other = upload(caller, b"y" * (SIZE + 64 * KB + 1), filename="b.txt")
    link.close()  # the caller leaves: all of it is free again
    wait_until(lambda: site.office.do("reserved_files", workspace_id=caller.workspace_id) == 0)
    again = upload(caller, b"y" * (SIZE + 64 * KB + 1), filename="b.txt")

    assert rest
    assert (other.status, other.error["code"]) == (403, "storage_quota_exceeded")
    assert again.status == 200
    assert site.office.do("stored_bytes", workspace_id=caller.workspace_id)[0] == 1


def test_the_same_content_is_stored_as_often_as_it_is_uploaded(site: Site, caller: Caller) -> None:
    """Nobody learns from an upload whether another workspace has the same file (F27)."""
    stranger = site.caller(scopes=["files"])

    ids = [uploaded(each) for each in (caller, stranger, caller, stranger) for _ in range(5)]
    delete(stranger, ids[5])

    assert len(set(ids)) == 20
    assert len(get(caller).json["data"]) == 10
    assert len(get(stranger).json["data"]) == 9
