"""`manage.py clean_files`: what a killed server and a storage that was away left, and no more."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from tests.flows.site import running_site
from tests.flows.stored_files.asking import PDF, SCOPES, delete, get, uploaded
from tests.flows.stored_files.test_quota import begin
from tests.support.servers import manage_json, running_gateway
from tests.support.waiting import wait_until


def test_what_is_left_is_deleted_and_no_more(home: Path) -> None:
    folder = home / "files"

    def stored() -> set[Path]:
        return set(folder.glob("*/*"))

    with running_site(home) as site:
        caller = site.caller(scopes=SCOPES)
        kept = uploaded(caller)
        whole = stored()
        lost = uploaded(caller)
        # As a file system that is not mounted for a while.
        folder.rename(home / "away")
        deleted = delete(caller, lost)
        (home / "away").rename(folder)
    with running_gateway(home) as gateway:
        link, _ = begin(caller.with_(port=gateway.port), chunked=False)
        with closing(link):
            wait_until(lambda: len(stored() - whole) == 2, what="the upload to be written")
            gateway.kill()

    early = manage_json(home, "clean_files")
    left = stored() - whole
    cleaned = manage_json(home, "clean_files", "--older-than-s", "0")
    again = manage_json(home, "clean_files", "--older-than-s", "0")

    assert deleted.status == 200
    assert len(left) == 2
    assert (early["unfinished"], early["orphans"]) == (0, 0)
    assert (cleaned["unfinished"], cleaned["orphans"], cleaned["expired"]) == (1, 1, 0)
    assert not any(again.values())
    assert stored() == whole
    with running_gateway(home) as gateway:
        there = caller.with_(port=gateway.port)
        listed = get(there)
        assert [file["id"] for file in listed.json["data"]] == [kept]
        assert listed.headers["x-storage-used-bytes"] == str(len(PDF))
        assert get(there, f"/{kept}/content").body == PDF
