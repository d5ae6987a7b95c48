"""Stored files in backups, under another sealing key, and in the commands about them."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

from tests.flows.site import running_site
from tests.flows.stored_files.asking import PDF, SCOPES, delete, get, upload, uploaded
from tests.support.servers import manage_json, run_manage, running_gateway


def test_files_are_in_the_backup_and_come_back(home: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with running_site(home) as site:
        caller = site.caller(scopes=SCOPES)
        kept, deleted = uploaded(caller), uploaded(caller, PDF + b"\n", filename="b.pdf")

        manage_json(home, "backup", str(tmp_path / "backup"))
        delete(caller, deleted)
        uploaded(caller, filename="later.pdf")
        restored = manage_json(other, "restore", str(tmp_path / "backup"))

    assert restored["warnings"] == []
    with running_gateway(other) as gateway:
        there = replace(caller, port=gateway.port)
        assert {file["id"] for file in get(there).json["data"]} == {kept, deleted}
        assert get(there, f"/{kept}/content").body == PDF
        assert get(there, f"/{deleted}/content").body == PDF + b"\n"
        again = manage_json(other, "clean_files", "--older-than-s", "0")
        assert (again["orphans"], again["removed"]) == (0, 0)
        assert upload(there).status == 200


def test_files_elsewhere_are_named_and_not_in_the_backup(home: Path, tmp_path: Path) -> None:
    env = {"TOLLHOUSE_FILES_DIR": str(tmp_path / "shared")}
    with running_site(home, env) as site:
        uploaded(site.caller(scopes=SCOPES))
        done = run_manage(home, "backup", str(tmp_path / "backup"), env=env)
    restored = manage_json(tmp_path / "other", "restore", str(tmp_path / "backup"))

    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "shared") in restored["warnings"][0]
    assert not (tmp_path / "backup" / "files").exists()


def test_files_are_read_under_another_sealing_key_once_it_was_changed(home: Path) -> None:
    old, new = (home / "secrets" / "sealing_key").read_text().strip(), secrets.token_urlsafe(32)
    with running_site(home) as site:
        caller = site.caller(scopes=SCOPES)
        file_id = uploaded(caller)
        name = (caller.workspace_id, "--max-files", "7", "--max-storage-mb", "1")
        limited = manage_json(home, "set_storage", *name)
        shown = get(caller).headers
        usual = manage_json(home, "set_storage", caller.workspace_id, "--usual")

    both = {"TOLLHOUSE_SEALING_KEYS": f"{new},{old}"}
    done = run_manage(home, "reseal_credentials", "--json", env=both)
    with running_gateway(home, env={"TOLLHOUSE_SEALING_KEYS": new}) as gateway:
        content = get(replace(caller, port=gateway.port), f"/{file_id}/content")

    assert done.returncode == 0, done.stderr
    assert content.body == PDF
    assert (limited["files"], limited["size_bytes"]) == (1, len(PDF))
    assert (limited["max_files"], limited["max_storage_bytes"]) == (7, 1024 * 1024)
    assert (shown["x-files-limit"], shown["x-storage-limit-bytes"]) == ("7", str(1024 * 1024))
    assert usual["max_files"] == 10_000
