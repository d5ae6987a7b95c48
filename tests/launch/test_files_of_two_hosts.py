"""Stored files of several homes on one database: that they do not share a folder is said."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.flows.caller import Caller
from tests.flows.office import open_office
from tests.flows.stored_files.asking import PDF, get, uploaded
from tests.flows.test_sessions import Visitor
from tests.support.redis import running_redis
from tests.support.servers import running_gateway
from tests.support.storage import database_of, use_postgresql

pytestmark = pytest.mark.slow

WARNING = "is not the folder of"
REMEDY = "set TOLLHOUSE_FILES_DIR to a folder that all of them share"


def home_beside(home: Path, folder: Path) -> Path:
    """Return a home of another host on the same database, with the same secrets."""
    other = Path(shutil.copytree(home, folder))
    use_postgresql(other, database_of(home))
    return other


def test_a_host_with_a_folder_of_its_own_says_so(postgresql_home: Path, tmp_path: Path) -> None:
    homes = [home_beside(postgresql_home, tmp_path / name) for name in ("alone", "shares")]
    alone_home, shares_home = homes
    shared = {"TOLLHOUSE_FILES_DIR": str(postgresql_home / "files")}
    with running_redis() as redis:
        env = {"REDIS_URL": redis.url}
        with (
            running_gateway(postgresql_home, env=env) as first,
            running_gateway(shares_home, env=env | shared) as shares,
            running_gateway(alone_home, env=env) as alone,
            open_office(postgresql_home, env) as office,
        ):
            workspace = office.do("workspace", name="Bakery", credit_nusd=0)
            key = office.do("key", workspace_id=workspace, scopes=["files"])
            caller = Caller(first.port, key["secret"], key["key_id"], workspace)
            file_id = uploaded(caller)
            answers = [
                get(caller.with_(port=server.port), f"/{file_id}/content")
                for server in (first, shares, alone)
            ]
            visitor = Visitor(alone.port)
            assert visitor.sign_in(alone.email, alone.password)
            page = visitor.get("/hosts")
            told = alone.log.read_text()

            assert WARNING not in first.log.read_text()
            assert WARNING not in shares.log.read_text()

    assert str(alone_home / "files") in told
    assert REMEDY in told
    assert str(postgresql_home) in told.partition(WARNING)[2]
    assert [answer.status for answer in answers] == [200, 200, 503]
    assert answers[1].body == PDF
    assert (page, "Stored files are in different folders" in visitor.text) == (200, True)
