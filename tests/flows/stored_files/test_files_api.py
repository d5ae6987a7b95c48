"""/v1/files: what OpenAI's SDK does with it, lists, quotas, and who sees what."""

from __future__ import annotations

import io

import openai
import pytest

from tests.flows.caller import Caller
from tests.flows.openai_sdk import open_client
from tests.flows.site import Site
from tests.flows.stored_files.asking import (
    FILES,
    PDF,
    PNG,
    SCOPES,
    delete,
    get,
    upload,
    uploaded,
)


def test_the_sdk_uploads_lists_reads_and_deletes(site: Site, caller: Caller) -> None:
    with open_client(site, caller) as client:
        made = client.files.create(
            file=("report.pdf", io.BytesIO(PDF)),
            purpose="user_data",
            expires_after={"anchor": "created_at", "seconds": 3600},
        )
        found = client.files.retrieve(made.id)
        listed = list(client.files.list(purpose="user_data"))
        content = client.files.content(made.id)
        deleted = client.files.delete(made.id)

        with pytest.raises(openai.NotFoundError):
            client.files.retrieve(made.id)

    assert found == made
    assert (made.bytes, made.filename, made.purpose) == (len(PDF), "report.pdf", "user_data")
    assert made.expires_at == made.created_at + 3600
    assert [file.id for file in listed] == [made.id]
    assert content.read() == PDF
    assert content.response.headers["cache-control"] == "private, max-age=0"
    assert content.response.headers["content-disposition"] == 'attachment; filename="report.pdf"'
    assert content.response.headers["x-content-type-options"] == "nosniff"
    assert deleted.deleted


def test_a_list_goes_on_behind_a_file_that_was_deleted(site: Site, caller: Caller) -> None:
    ids = [uploaded(caller, filename=f"{number}.pdf") for number in range(5)]
    other = uploaded(site.caller(scopes=SCOPES))

    with open_client(site, caller) as client:
        for file in client.files.list(limit=2):  # the SDK asks for page after page
            client.files.delete(file.id)
            ids.remove(file.id)
    foreign = get(caller, f"?after={other}")

    assert ids == []
    assert get(caller).json["data"] == []
    assert (foreign.status, foreign.error["param"]) == (400, "after")


def test_pages_follow_the_order_and_the_purpose(caller: Caller) -> None:
    pdfs = [uploaded(caller, filename=f"{number}.pdf") for number in range(3)]
    picture = uploaded(caller, PNG, filename="a.png", purpose="vision")

    first = get(caller, "?order=asc&limit=2").json
    second = get(caller, f"?order=asc&limit=2&after={first['last_id']}").json
    vision = get(caller, "?purpose=vision").json

    assert [file["id"] for file in first["data"]] == pdfs[:2]
    assert first["has_more"]
    assert [file["id"] for file in second["data"]] == [pdfs[2], picture]
    assert not second["has_more"]
    assert [file["id"] for file in vision["data"]] == [picture]
    for query in ("limit=0", "limit=1001", "limit=x", "order=up", "purpose=x", "after=file_x"):
        assert get(caller, f"?{query}").status == 400, query
    assert get(caller, "?limit=1&limit=2").status == 400


def test_a_file_of_another_workspace_is_not_there(site: Site, caller: Caller) -> None:
    file_id = uploaded(caller)
    stranger, colleague = (
        site.caller(scopes=SCOPES),
        site.another_key(caller.workspace_id, scopes=SCOPES),
    )

    for path in (f"/{file_id}", f"/{file_id}/content"):
        assert get(stranger, path).error["code"] == "not_found"
        assert get(colleague, path).status == 200
    assert delete(stranger, file_id).status == 404
    assert get(stranger).json["data"] == []
    assert get(caller, "/file-abc123").status == 404  # as providers have them


def test_a_key_without_the_scope_may_do_nothing(site: Site, caller: Caller) -> None:
    file_id = uploaded(caller)
    chats = site.another_key(caller.workspace_id, scopes=["completions"])

    answers = [upload(chats), get(chats), get(chats, f"/{file_id}/content"), delete(chats, file_id)]

    assert [answer.status for answer in answers] == [403] * 4
    assert answers[0].error["details"]["required_scope"] == "files"
    assert caller.with_(secret="sk-nobody").ask(path=FILES, raw=b"x").status == 401


def test_the_same_key_returns_the_file_that_it_made(caller: Caller) -> None:
    once = {"idempotency-key": "once"}

    first = upload(caller, headers=once)
    again = upload(caller, headers=once)
    other = upload(caller, PDF + b"\n", headers=once)
    bad = upload(caller, headers={"idempotency-key": "not this!"})

    assert again.json == first.json
    assert again.headers["idempotent-replayed"] == "true"
    assert (other.status, other.error["code"]) == (422, "idempotency_mismatch")
    assert bad.status == 400
    assert len(get(caller).json["data"]) == 1


def test_quotas_are_told_and_kept(site: Site, caller: Caller) -> None:
    site.office.do(
        "storage_limits",
        workspace_id=caller.workspace_id,
        max_file_bytes=2 * len(PDF),
        max_files=3,
        max_storage_bytes=3 * len(PDF) + 10,
    )

    first, _ = upload(caller), upload(caller)
    large = upload(caller, PDF + b" " * 2 * len(PDF))
    too_much = upload(caller, PDF + b" " * 20)
    last = upload(caller)
    one_more = upload(caller, b"tiny", filename="a.txt")
    delete(caller, first.json["id"])
    fits_again = upload(caller)

    assert (first.headers["x-files-used"], first.headers["x-files-limit"]) == ("1", "3")
    assert first.headers["x-storage-used-bytes"] == str(len(PDF))
    assert (large.status, large.error["code"]) == (413, "payload_too_large")
    assert (too_much.status, too_much.error["code"]) == (403, "storage_quota_exceeded")
    assert last.status == 200
    assert (one_more.status, one_more.error["code"]) == (403, "storage_quota_exceeded")
    assert fits_again.status == 200
    assert get(caller).headers["x-storage-used-bytes"] == str(3 * len(PDF))
    assert site.office.do("stored_bytes", workspace_id=caller.workspace_id) == [3, 3 * len(PDF)]


def test_an_expired_file_says_so(site: Site, caller: Caller) -> None:
    file_id = uploaded(caller, fields={"expires_after[seconds]": "3600"})
    site.office.do("expire_file", file_id=file_id)

    before = get(caller, f"/{file_id}")
    site.office.do("clean_files")
    after = get(caller, f"/{file_id}/content")

    assert (before.status, before.error["code"]) == (404, "file_expired")
    assert (after.status, after.error["code"]) == (404, "file_expired")
    assert get(caller).json["data"] == []
    assert get(caller).headers["x-files-used"] == "0"


def test_every_mount_has_the_endpoint(caller: Caller) -> None:
    for mount in ("/api/v1", "/openai/v1", "/compat/infery/v1"):
        assert upload(caller, path=f"{mount}/files").status == 200, mount
    wrong = caller.ask(path=FILES, method="PUT")
    assert (wrong.status, wrong.headers["allow"]) == (405, "GET, HEAD, OPTIONS, POST")
