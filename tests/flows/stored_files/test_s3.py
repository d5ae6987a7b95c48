"""Files in a bucket: a real server of S3's API (SeaweedFS) in the place of the folder."""

from __future__ import annotations

import base64
import hashlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.batches.asking import chat, created, ended, results, running_worker
from tests.flows.caller import Caller
from tests.flows.office import open_office
from tests.flows.site import Site, running_site
from tests.flows.stored_files.asking import (
    PDF,
    SCOPES,
    delete,
    get,
    read_long,
    upload,
    upload_long,
    uploaded,
)
from tests.flows.stored_files.test_kills import upload_and_delete
from tests.support.memory import forget_peak, peak_bytes
from tests.support.proofs import form
from tests.support.s3 import S3Server, running_s3
from tests.support.servers import running_gateway

MB = 1024 * 1024
# More than two parts, and no multiple of any size that bytes are handled in.
LONG = b"0123456789abcdef" * (18 * MB // 16) + b"end"
KILLS = form(short=2, whole=20)


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with running_s3(tmp_path_factory.mktemp("s3") / "data") as server:
        yield server


@pytest.fixture
def bucket_site(home: Path, s3: S3Server) -> Iterator[Site]:
    """A site whose files are in the bucket, behind a prefix of its own."""
    with running_site(home, s3.env(home.parent.name)) as site:
        yield site


def prefix_of(site: Site) -> str:
    return site.gateway.home.parent.name


def test_files_are_in_the_bucket_and_nowhere_else(bucket_site: Site, s3: S3Server) -> None:
    caller, prefix = bucket_site.caller(scopes=SCOPES), prefix_of(bucket_site)

    small, long = uploaded(caller), uploaded(caller, LONG, filename="long.txt")
    refused = upload(caller, b"PK\x03\x04\0" + LONG, filename="a.txt")
    stored = s3.objects(prefix)
    contents = [get(caller, f"/{file_id}/content").body for file_id in (small, long)]
    listed = [file["id"] for file in get(caller).json["data"]]
    delete(caller, long)
    after_delete = s3.objects(prefix)
    bucket_site.office.do("expire_file", file_id=small)
    cleaned = bucket_site.office.do("clean_files", at_once=True)

    assert refused.status == 415
    assert len(stored) == 2
    assert sum(stored.values()) > len(LONG) + len(PDF)
    assert contents == [PDF, LONG]
    assert listed == [long, small]
    assert len(after_delete) == 1
    assert (cleaned["expired"], cleaned["orphans"]) == (1, 0)
    assert s3.objects(prefix) == {}
    assert s3.unfinished(prefix) == []
    assert not (bucket_site.gateway.home / "files").exists()
    names = "".join(stored)
    assert "long" not in names
    assert small not in names


def test_calls_and_batches_read_and_write_in_the_bucket(bucket_site: Site, s3: S3Server) -> None:
    caller = bucket_site.caller(scopes=SCOPES)
    file = {"type": "file", "file": {"file_id": uploaded(caller)}}
    content = [file, {"type": "text", "text": "script:echo"}]

    bucket_site.add_model("reader", supports_pdf=True)
    answer = caller.with_(model="reader").ask(messages=[{"role": "user", "content": content}])
    with running_worker(bucket_site):
        lines = [chat(str(number), "script:text=Hi") for number in range(5)]
        done = ended(caller, created(caller, lines)["id"])

    assert base64.b64encode(PDF).decode() in answer.echo["body_text"]
    assert set(results(caller, done["output_file_id"])) == set("01234")
    assert len(s3.objects(prefix_of(bucket_site))) == 3  # the PDF, the requests and the results


def test_a_storage_that_is_away_is_said_and_harms_nothing(bucket_site: Site, s3: S3Server) -> None:
    caller = bucket_site.caller(scopes=SCOPES)
    file_id = uploaded(caller)

    s3.stop()
    away = [upload(caller), get(caller, f"/{file_id}/content"), delete(caller, file_id)]
    call = caller.ask("Hello")
    s3.start()
    again = uploaded(caller)
    bucket_site.office.do("clean_files", at_once=True)

    assert [answer.status for answer in away] == [503, 503, 200]
    assert {answer.error["code"] for answer in away[:2]} == {"storage_unavailable"}
    assert call.status == 200
    assert [file["id"] for file in get(caller).json["data"]] == [again]
    assert len(s3.objects(prefix_of(bucket_site))) == 1


@pytest.mark.proof
def test_a_long_file_takes_no_more_memory_than_a_short_one(bucket_site: Site, s3: S3Server) -> None:
    caller = bucket_site.caller(scopes=SCOPES)
    size_bytes = form(short=96 * MB, whole=1024 * MB)
    limits = {"max_file_bytes": 2048 * MB}
    bucket_site.office.do("storage_limits", workspace_id=caller.workspace_id, **limits)
    pid = bucket_site.gateway.process.pid
    uploaded(caller, LONG, filename="a.txt")  # what any upload takes is there

    before = forget_peak(pid)
    file, digest = upload_long(caller, size_bytes)
    read = read_long(caller, file["id"])

    assert file["bytes"] == size_bytes
    assert read == digest
    assert peak_bytes(pid) - before < 64 * MB
    delete(caller, file["id"])


@pytest.mark.proof
def test_nothing_is_left_in_the_bucket_by_kills(home: Path, s3: S3Server) -> None:
    """Of servers that write files in parts."""
    env = s3.env("killed")
    with running_site(home, env) as site:
        caller = site.caller(scopes=SCOPES)
        kept = uploaded(caller, LONG, filename="kept.txt")
    for number in range(KILLS):
        with running_gateway(home, env=env) as gateway:
            over, there = threading.Event(), caller.with_(port=gateway.port)
            working = (there, over, 10 * MB)
            threads = [threading.Thread(target=upload_and_delete, args=working) for _ in range(3)]
            for thread in threads:
                thread.start()
            time.sleep(0.7 + 0.13 * number)
            gateway.process.kill()
            over.set()
            for thread in threads:
                thread.join()

    with running_gateway(home, env=env) as gateway, open_office(home, env) as office:
        again = caller.with_(port=gateway.port)
        office.do("clean_files", at_once=True)
        files, _ = office.do("stored_bytes", workspace_id=caller.workspace_id)
        listed = get(again, "?limit=100").json["data"]

        assert kept in {file["id"] for file in listed}
        assert len(listed) == files == len(s3.objects("killed"))
        assert s3.unfinished("killed") == []
        for file in listed:
            assert_whole(again, file["id"], file["bytes"])


def assert_whole(caller: Caller, file_id: str, size: int) -> None:
    content = get(caller, f"/{file_id}/content").body
    assert len(content) == size
    if size == len(LONG):
        assert hashlib.sha256(content).digest() == hashlib.sha256(LONG).digest()
