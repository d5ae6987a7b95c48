"""GET /models without a key, where operators want it; with one it stays what the key may use."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site, running_site

ANYBODY = ""


@pytest.fixture(scope="module")
def public_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("public") / "home"))
    with running_site(home, {"TOLLHOUSE_PUBLIC_MODEL_CATALOG": "yes"}) as running:
        yield running


def look(caller: Caller, path: str = "/v1/models", **headers: str) -> Answer:
    return caller.ask(method="GET", path=path, raw=b"", headers=headers)


def names(answer: Answer) -> set[str]:
    assert answer.status == 200
    return {model["id"] for model in answer.json["data"]}


@pytest.mark.parametrize("mount", ["/v1", "/api/v1", "/compat/bud/v1"])
def test_anybody_sees_every_model(public_site: Site, mount: str) -> None:
    caller = public_site.caller()

    listed = look(caller, f"{mount}/models", authorization=ANYBODY)
    one = look(caller, f"{mount}/models/small-model", authorization=ANYBODY)

    assert {"fake-model", "small-model", "free-model"} <= names(listed)
    assert one.json["id"] == "small-model"


def test_a_key_still_sees_what_it_may_use(public_site: Site) -> None:
    caller = public_site.caller(allowed_models=["small-model"])

    hidden = look(caller, "/v1/models/fake-model")

    assert names(look(caller)) == {"small-model"}
    assert hidden.status == 404


@pytest.mark.parametrize("shown", ["Bearer nobody's", "Bearer", "Basic eDp5"])
def test_a_key_that_is_no_good_is_refused(public_site: Site, shown: str) -> None:
    assert look(public_site.caller(), authorization=shown).status == 401


@pytest.mark.parametrize("path", ["/v1/usage", "/v1/generation?id=x"])
def test_nothing_else_is_public(public_site: Site, path: str) -> None:
    assert look(public_site.caller(), path, authorization=ANYBODY).status == 401


def test_calls_need_a_key_as_ever(public_site: Site) -> None:
    caller = public_site.caller().with_(secret="")

    answer = caller.ask(headers={"authorization": ANYBODY})

    assert answer.status == 401


def test_it_is_off_where_nobody_asked_for_it(site: Site) -> None:
    assert look(site.caller(), authorization=ANYBODY).status == 401
