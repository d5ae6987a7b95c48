"""The page Files of a workspace."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEvent, Role, Workspace
from dashboard.forms.submit_once import new_form_token
from dashboard.http.page_urls import page_address
from gateway.models import StoredFile, WorkspaceStorage
from gateway.services.files.places import forget_checks
from gateway.services.files.reading import read_whole
from tests.dashboard.visitors import signed_in
from tests.factories import make_file, make_member, make_user, make_workspace
from tests.gateway.test_commands import refusal_of

pytestmark = pytest.mark.django_db
MB = 1024 * 1024


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, settings: Any) -> Iterator[Path]:
    """A folder of files of the test's own."""
    settings.FILES_DIR = tmp_path / "files"
    forget_checks()
    yield settings.FILES_DIR
    forget_checks()


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace("Bakery")


def upload(file: SimpleUploadedFile, **fields: Any) -> dict[str, Any]:
    return {"file": file, "purpose": "user_data", "token": new_form_token()} | fields


def test_a_form_that_is_sent_twice_stores_one_file(workspace: Workspace) -> None:
    client = signed_in(make_member(workspace, Role.DEVELOPER))
    here, token = page_address(workspace, "file-upload"), new_form_token()

    first, again, forged = (
        client.post(here, upload(SimpleUploadedFile("a.txt", b"a"), token=sent))
        for sent in (token, token, "")
    )

    assert (first.status_code, again.status_code, forged.status_code) == (302, 409, 409)
    assert "already submitted. The file is in the list." in again.content.decode()
    assert StoredFile.objects.count() == 1


def test_a_member_uploads_and_deletes_a_file(workspace: Workspace, folder: Path) -> None:
    member = make_member(workspace, Role.DEVELOPER)
    client = signed_in(member)

    sent = client.post(
        page_address(workspace, "file-upload"),
        upload(SimpleUploadedFile("../recipe.txt", b"Flour and water")),
    )
    file = StoredFile.objects.get()
    listed = client.get(page_address(workspace, "file-list")).content.decode()
    content = read_whole(workspace.pk, file.public_id, max_bytes=MB)
    on_disk = next(folder.glob("*/*")).read_bytes()
    client.post(page_address(workspace, "file-delete", file.public_id))

    assert sent.status_code == 302
    assert (content.content, content.filename) == (b"Flour and water", "recipe.txt")
    assert b"Flour" not in on_disk
    assert file.public_id in listed
    assert "recipe.txt" in listed
    assert list(folder.glob("*/*")) == []
    assert WorkspaceStorage.objects.get().files == 0
    actions = AuditEvent.objects.filter(actor=member.email).values_list("action", flat=True)
    assert set(actions) >= {"file.upload", "file.delete"}
    owner = signed_in(make_member(workspace, Role.OWNER))
    log = owner.get(page_address(workspace, "audit")).content.decode()
    assert [words in log for words in ("Uploaded", "Deleted", "size (bytes): 15")] == [True] * 3


def test_a_file_that_is_not_what_it_says_is_refused_on_its_page(workspace: Workspace) -> None:
    client = signed_in(make_member(workspace, Role.OWNER))

    sent = client.post(
        page_address(workspace, "file-upload"),
        upload(SimpleUploadedFile("a.pdf", b"\x89PNG\r\n\x1a\n0000", "application/pdf")),
    )

    assert sent.status_code == 422
    assert "The file is image/png, not application/pdf." in sent.content.decode()
    assert not StoredFile.objects.exists()


def test_the_list_has_pages_and_a_filter(workspace: Workspace) -> None:
    files = [make_file(workspace, filename=f"n{number}.txt") for number in range(60)]
    make_file(workspace, filename="lines.jsonl", purpose="batch")
    client = signed_in(make_member(workspace, Role.VIEWER))
    here = page_address(workspace, "file-list")

    first = client.get(here).content.decode()
    second = client.get(f"{here}?after={files[30].public_id}").content.decode()
    batch = client.get(f"{here}?purpose=batch").content.decode()

    assert "lines.jsonl" in first
    assert "n0.txt" not in first
    assert "n29.txt" in second
    assert "n30.txt" not in second
    assert "lines.jsonl" in batch
    assert "n59.txt" not in batch
    assert "Download" not in first  # viewers see names alone
    assert client.get(f"{here}?after=file_x").status_code == 400


def test_a_long_list_takes_no_more_queries_than_a_short_one(workspace: Workspace) -> None:
    client = signed_in(make_member(workspace, Role.DEVELOPER))
    here, found = page_address(workspace, "file-list"), list[list[str]]()
    make_file(workspace, filename="first.txt")
    client.get(here)

    for files in (0, 60):
        for number in range(files):
            make_file(workspace, filename=f"n{number}.txt")
        with CaptureQueriesContext(connection) as queries:
            client.get(here)
            found.append([query["sql"] for query in queries])

    short, long = found
    assert len(short) == len(long)
    asked = [sql for sql in long if "gateway_storedfile" in sql]
    assert len(asked) == 1
    assert "COUNT" not in asked[0]


def test_operators_set_limits(workspace: Workspace) -> None:
    operator = signed_in(make_user(is_operator=True))
    owner = signed_in(make_member(workspace, Role.OWNER))
    here, wanted = page_address(workspace, "file-limits"), {"max_file_mb": "5", "max_files": "7"}

    refused = owner.post(here, wanted).status_code
    saved = operator.post(here, wanted).status_code

    assert (refused, saved) == (403, 302)
    storage = WorkspaceStorage.objects.get()
    assert (storage.max_file_bytes, storage.max_files) == (5 * MB, 7)
    assert storage.max_storage_bytes is None


def test_the_command_of_limits_says_sizes_as_its_options_take_them(workspace: Workspace) -> None:
    out = StringIO()
    given = ("set_storage", workspace.slug, "--max-file-mb", "5", "--max-storage-mb", "2048")
    call_command(*given, "--max-files", "7", stdout=out)

    refusals = [
        refusal_of("set_storage", workspace.slug, "--max-file-mb", "99999999"),
        refusal_of("set_storage", workspace.slug, "--max-storage-mb=-1"),
        refusal_of("set_storage", workspace.slug, "--max-files=-1"),
    ]

    assert out.getvalue().strip() == (
        "bakery stores 0 files, 0 bytes. It may store 7 files, 2.0 GB in total and 5.0 MB per file."
    )
    assert refusals == [
        "--max-file-mb: The limit must be between 0 and 65,536 MB.",
        "--max-storage-mb: The limit must be between 0 and 1,073,741,824 MB.",
        "--max-files: The limit must be between 0 and 10,000,000.",
    ]
