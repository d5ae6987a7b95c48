"""The installation's secrets are made once, whoever comes first, for one account alone."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gateway.config.env import SettingError
from gateway.config.home import find_or_make_secret


def test_a_secret_is_made_once_and_kept(tmp_path: Path) -> None:
    first = find_or_make_secret(tmp_path / "home", "thing")

    assert find_or_make_secret(tmp_path / "home", "thing") == first
    assert find_or_make_secret(tmp_path / "home", "other") != first
    assert len(first) >= 50


def test_everyone_who_starts_at_once_gets_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        secrets = set(pool.map(lambda _: find_or_make_secret(tmp_path, "thing"), range(64)))

    assert len(secrets) == 1
    assert [path.name for path in (tmp_path / "secrets").iterdir()] == ["thing"]


def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    find_or_make_secret(tmp_path / "home", "thing")

    modes = [tmp_path / "home", tmp_path / "home/secrets", tmp_path / "home/secrets/thing"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in modes] == [0o700, 0o700, 0o600]


def test_a_home_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(SettingError, match="TOLLHOUSE_HOME"):
        find_or_make_secret(tmp_path / "file" / "home", "thing")
