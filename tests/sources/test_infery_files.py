"""Infery: files by id, of items S2-02, S2-09, S2-10 and S2-27."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.flows.caller import Answer
from tests.flows.site import Site
from tests.flows.stored_files.asking import SCOPES, delete, uploaded
from tests.sources.product import Client, client_of
from tests.sources.test_infery import PAGES, assert_refused, b64, user

URL = f"data:application/pdf;base64,{b64(PAGES)}"


@pytest.fixture
def infery(site: Site) -> Client:
    """A client that may store files."""
    return client_of(site, "infery", model="gpt-4o", scopes=SCOPES)


def file_block(file_id: str) -> dict[str, Any]:
    return {"type": "file", "file_id": file_id}


def ask(client: Client, file_id: str) -> Answer:
    return client.ask(messages=user(file_block(file_id)))


def test_S2_02_files_by_id(infery: Client) -> None:
    assert ask(infery, uploaded(infery, PAGES)).status == 200


def test_S2_09_file_blocks_with_the_id_of_a_file(infery: Client) -> None:
    file_id = uploaded(infery, PAGES, filename="a.pdf")

    for block in (file_block(file_id), {"type": "file", "file": {"file_id": file_id}}):
        [file, _] = infery.sent(messages=user(block))["messages"][0]["content"]
        assert file == {"type": "file", "file": {"filename": "a.pdf", "file_data": URL}}


def test_S2_10_the_bytes_of_a_file_are_sent_until_it_is_deleted(infery: Client) -> None:
    file_id = uploaded(infery, PAGES)

    sent = infery.sent(messages=user(file_block(file_id)))
    delete(infery, file_id)

    assert URL in str(sent)
    assert file_id not in str(sent)
    assert_refused(infery, "file_not_found", messages=user(file_block(file_id)))


def test_S2_27_files_belong_to_a_workspace(site: Site, infery: Client) -> None:
    file_id = uploaded(infery, PAGES)
    colleague = replace(infery, secret=site.another_key(infery.workspace_id).secret)
    stranger = client_of(site, "infery", model="gpt-4o", scopes=SCOPES)

    theirs, missing = ask(stranger, file_id), ask(stranger, "file-none")

    assert ask(colleague, file_id).status == 200
    assert (theirs.status, theirs.error["code"]) == (400, "file_not_found")
    assert theirs.error["message"].replace(file_id, "file-none") == missing.error["message"]
