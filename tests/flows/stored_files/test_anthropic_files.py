"""The anthropic SDK's client.beta.files, unmodified."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from tests.flows.caller import Caller
from tests.flows.site import CREDENTIAL, Site
from tests.flows.stored_files.asking import FILES, PDF, SCOPES, get, upload, uploaded

BETA = "files-api-2025-04-14"
VERSION = {"anthropic-version": "2023-06-01"}
TEXT = b"It is seven."
CLAUDE, OTHER = "claude-of-sdk-files", "fake-model"


@pytest.fixture
def client(caller: Caller) -> Iterator[Anthropic]:
    address = f"http://127.0.0.1:{caller.port}"
    with Anthropic(base_url=address, api_key=caller.secret, max_retries=0) as opened:
        yield opened


def send(client: Anthropic, name: str = "a.pdf", content: bytes = PDF, **options: Any) -> Any:
    return client.beta.files.upload(file=(name, content, "application/pdf"), **options)


def test_a_file_from_its_upload_to_its_end(client: Anthropic, caller: Caller) -> None:
    file = send(client, betas=[BETA])

    assert (file.type, file.filename, file.mime_type) == ("file", "a.pdf", "application/pdf")
    assert (file.size_bytes, file.downloadable, file.expires_at) == (len(PDF), True, None)
    assert client.beta.files.retrieve_metadata(file.id) == file
    assert client.beta.files.download(file.id).read() == PDF
    assert get(caller, f"/{file.id}").json["purpose"] == "user_data"
    deleted = client.beta.files.delete(file.id)
    assert (deleted.id, deleted.type) == (file.id, "file_deleted")
    with pytest.raises(anthropic.NotFoundError) as gone:
        client.beta.files.retrieve_metadata(file.id)
    assert gone.value.body["error"]["type"] == "not_found_error"  # type: ignore[index]
    assert gone.value.request_id


def test_a_file_can_expire(client: Anthropic) -> None:
    file = send(client, expires_in_seconds=3600)

    assert file.expires_at is not None
    assert round((file.expires_at - file.created_at).total_seconds()) == 3600
    with pytest.raises(anthropic.BadRequestError, match="expires_in_seconds must be a number"):
        send(client, expires_in_seconds=5)


def test_pages_go_on_where_the_last_one_ended(client: Anthropic) -> None:
    ids = [send(client, f"{number}.pdf").id for number in range(5)][::-1]

    first = client.beta.files.list(limit=2)

    assert [file.id for file in first.data] == ids[:2]
    assert [file.id for file in client.beta.files.list(limit=2)] == ids
    assert [file.id for file in client.beta.files.list(ids=[ids[3], ids[1], "file_no"])] == [
        ids[1],
        ids[3],
    ]


def test_older_sdks_go_on_by_ids(caller: Caller) -> None:
    ids = [uploaded(caller, filename=f"{number}.pdf") for number in range(5)][::-1]

    def page(query: str) -> tuple[list[str], bool]:
        answer = caller.ask(path=f"{FILES}?{query}", method="GET", raw=b"", headers=VERSION)
        body = answer.json
        found = [file["id"] for file in body["data"]]
        assert (body["first_id"], body["last_id"]) == (found[0], found[-1])
        return found, body["has_more"]

    assert page("limit=2") == (ids[:2], True)
    assert page(f"limit=2&after_id={ids[1]}") == (ids[2:4], True)
    assert page(f"limit=2&after_id={ids[3]}") == (ids[4:], False)
    assert page(f"limit=2&before_id={ids[3]}") == (ids[1:3], True)
    assert page(f"limit=2&before_id={ids[2]}") == (ids[:2], False)
    assert page("limit=1000") == (ids, False)


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
        ("after_id=file_no", "after_id"),
        ("page=page_no", "page"),
        ("after_id=a&page=b", "page"),
        ("ids=a&limit=1", "limit"),
    ],
)
def test_another_page_is_refused(caller: Caller, query: str, param: str) -> None:
    answer = caller.ask(path=f"{FILES}?{query}", method="GET", raw=b"", headers=VERSION)

    assert (answer.status, answer.error["param"]) == (400, param)
    assert answer.json["type"] == "error"


def test_no_files_are_an_empty_page(client: Anthropic) -> None:
    assert list(client.beta.files.list()) == []


def test_a_bad_upload_is_an_error_of_anthropics(client: Anthropic) -> None:
    with pytest.raises(anthropic.BadRequestError) as refused:
        client.beta.files.upload(file=("a.png", PDF, "image/png"))

    assert refused.value.body["type"] == "error"  # type: ignore[index]
    assert refused.value.request_id


def test_callers_of_openais_format_still_have_to_say_a_purpose(caller: Caller) -> None:
    answer = upload(caller, purpose=None)

    assert (answer.status, answer.error["param"]) == (400, "purpose")
    assert upload(caller).json["object"] == "file"


@pytest.mark.parametrize("model", [CLAUDE, OTHER])
def test_a_file_is_read_by_a_model(site: Site, model: str) -> None:
    site.office.do(
        "provider",
        name="claude-provider-of-sdk-files",
        kind="anthropic",
        base_url=f"{site.upstream.origin}/anthropic/v1",
        credential=CREDENTIAL,
    )
    native = {"native_model": "claude-haiku-4-5-20251001", "supports_pdf": True}
    site.add_model(
        CLAUDE, provider="claude-provider-of-sdk-files", max_output_tokens=1_000, **native
    )
    caller = site.caller(scopes=SCOPES)
    address = f"http://127.0.0.1:{caller.port}"
    with Anthropic(base_url=address, api_key=caller.secret, max_retries=0) as client:
        file = client.beta.files.upload(file=("notes.txt", TEXT, "text/plain"))
        asked: Any = [
            {"type": "document", "source": {"type": "file", "file_id": file.id}},
            {"type": "text", "text": "script:echo"},
        ]

        message = client.beta.messages.create(
            model=model,
            max_tokens=500,
            messages=[{"role": "user", "content": asked}],
            betas=[BETA],
        )

    [block] = message.content
    assert block.type == "text"
    # Anthropic's API has a place for texts; others get them as files.
    assert ("It is seven." in block.text) == (model == CLAUDE)
    assert (b64encode(TEXT).decode() in block.text) == (model == OTHER)
