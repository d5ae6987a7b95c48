"""The disk of the files is full: uploads are refused, and nothing of them is left (F26)."""

from __future__ import annotations

from pathlib import Path

from tests.flows.site import running_site
from tests.flows.stored_files.asking import SCOPES, get, upload, uploaded
from tests.support.small_disk import mounted

MB = 1024 * 1024
DISK_MB = 16


def test_an_upload_that_does_not_fit_on_the_disk_leaves_nothing(home: Path, tmp_path: Path) -> None:
    with mounted(tmp_path / "small", DISK_MB) as disk:
        env = {"TOLLHOUSE_FILES_DIR": str(disk)}
        with running_site(home, env) as site:
            caller = site.caller(scopes=SCOPES)
            kept = uploaded(caller)

            full = upload(caller, b"x" * (DISK_MB * MB), filename="a.txt")
            left = [path for path in disk.glob("*/*") if path.is_file()]
            call = caller.ask("Hello")
            fits = upload(caller, b"x" * (DISK_MB * MB // 2), filename="b.txt")

            assert (full.status, full.error["code"]) == (503, "storage_unavailable")
            assert int(full.headers["retry-after"]) >= 1
            assert len(left) == 1
            assert call.status == 200
            assert fits.status == 200
            assert [file["id"] for file in get(caller).json["data"]] == [fits.json["id"], kept]
            assert site.office.do("stored_bytes", workspace_id=caller.workspace_id)[0] == 2
