"""Uploads with a scanner: its verdict is kept, and nothing is kept without one (F29)."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.core.scanner_address import read_scanner_url
from tests.fakes.clamd import EICAR, running_clamd
from tests.flows.site import running_site
from tests.flows.stored_files.asking import SCOPES, get, upload

LIMIT = 100_000


def test_a_file_is_kept_only_if_the_scanner_finds_nothing(home: Path) -> None:
    with running_clamd(LIMIT) as clamd:
        env = {"TOLLHOUSE_FILE_SCANNER": clamd.url}
        with running_site(home, env) as site:
            caller = site.caller(scopes=SCOPES)
            text = b"harmless\n" * 5_000

            good = upload(caller, text, filename="a.txt")
            virus = upload(caller, b"x" * 70_000 + EICAR, filename="b.txt")
            long = upload(caller, b"x" * (LIMIT + 1), filename="c.txt")
            clamd.server.shutdown()
            clamd.server.server_close()
            away = upload(caller, text, filename="d.txt")

            assert good.status == 200
            assert clamd.scanned[0] == text
            assert (virus.status, virus.error["code"]) == (422, "file_rejected")
            assert "Eicar-Test-Signature" in virus.error["message"]
            assert (long.status, long.error["code"]) == (413, "payload_too_large")
            assert (away.status, away.error["code"]) == (503, "storage_unavailable")
            assert [file["id"] for file in get(caller).json["data"]] == [good.json["id"]]
            assert get(caller).headers["x-storage-used-bytes"] == str(len(text))
            assert len(list((home / "files").glob("*/*"))) == 1
            assert EICAR.decode() not in (home / "server.log").read_text()


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("tcp://scanner", "scanner:3310"),
        ("tcp://10.0.0.1:99", "10.0.0.1:99"),
        ("unix:///run/clamav/clamd.ctl", "/run/clamav/clamd.ctl"),
    ],
)
def test_the_address_of_a_scanner(text: str, place: str) -> None:
    assert str(read_scanner_url(text)) == place


@pytest.mark.parametrize("text", ["http://a", "tcp://", "tcp://a/b", "unix://a", "tcp://a:x"])
def test_what_is_no_address_of_a_scanner(text: str) -> None:
    with pytest.raises(ValueError, match="must look like"):
        read_scanner_url(text)
