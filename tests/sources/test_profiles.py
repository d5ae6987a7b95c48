"""How a request gets its profile, and what it changes beside the endpoint for calls."""

from __future__ import annotations

import pytest

from gateway.core.profiles import BY_NAME
from tests.flows.caller import CHAT
from tests.flows.site import Site
from tests.sources.product import Client, client_of
from tests.support.waiting import wait_until

OTHERS = sorted(BY_NAME.keys() - {"unified"})


@pytest.mark.parametrize("profile", OTHERS)
def test_header_address_and_key_choose_the_same(site: Site, profile: str) -> None:
    ours, theirs = client_of(site, "unified"), client_of(site, profile)

    answers = [
        ours.ask(headers={"x-compat-profile": profile}, stream=False),
        ours.ask(path=f"/compat/{profile}/v1/chat/completions", stream=False),
        theirs.ask(stream=False),
    ]

    assert [answer.headers["x-compat-profile"] for answer in answers] == [profile] * 3
    prefixes = {answer.json["id"].removesuffix(answer.call_id) for answer in answers}
    assert prefixes == {BY_NAME[profile].id_prefix}


def test_the_header_goes_before_the_address_and_the_address_before_the_key(site: Site) -> None:
    client = client_of(site, "bud")
    address = "/compat/hyperinfer/v1/chat/completions"

    by_address = client.ask(path=address)
    by_header = client.ask(path=address, headers={"x-compat-profile": "infery"})

    assert by_address.headers["x-compat-profile"] == "hyperinfer"
    assert by_header.headers["x-compat-profile"] == "infery"


def test_a_key_that_names_none_has_its_workspaces(site: Site) -> None:
    client, own = client_of(site, "unified"), client_of(site, "infery")

    for caller in (client, own):
        site.gateway.manage("set_workspace", caller.workspace_id, "--profile", "bud")
    wait_until(lambda: client.ask().headers.get("x-compat-profile") == "bud")
    site.gateway.manage("set_workspace", client.workspace_id, "--profile", "installation")

    wait_until(lambda: "x-compat-profile" not in client.ask().headers)
    assert own.ask().headers["x-compat-profile"] == "infery"


def test_a_key_may_forbid_the_header(site: Site) -> None:
    client = client_of(site, "unified")
    site.office.do(
        "compatibility",
        key_id=client.key_id,
        compat_profile="bud",
        allows_profile_override=False,
    )

    answer = client.ask(headers={"x-compat-profile": "infery"})

    assert answer.headers["x-compat-profile"] == "bud"


@pytest.mark.parametrize("beside", ["chat/completions", "models"])
def test_a_profile_that_does_not_exist_is_refused(site: Site, beside: str) -> None:
    client = client_of(site, "unified")
    method = "POST" if beside.startswith("chat") else "GET"

    by_header = client.ask(
        method=method, path=f"/v1/{beside}", headers={"x-compat-profile": "nobody"}
    )
    by_address = client.ask(method=method, path=f"/compat/nobody/v1/{beside}")

    assert (by_header.status, by_header.error["param"]) == (400, "X-Compat-Profile")
    assert (by_address.status, by_address.error["code"]) == (404, "not_found")


@pytest.mark.parametrize("profile", OTHERS)
def test_other_endpoints_word_their_errors_in_the_profile_too(site: Site, profile: str) -> None:
    """hyperinfer alone words only calls: its other endpoints keep their 404."""
    root = f"/compat/{profile}/v1"
    client = client_of(site, "unified", path=f"{root}/chat/completions")
    expected = {
        "inferada": "model_not_found",
        "bud": 404,
        "infery": "model_not_found",
        "hyperinfer": "model_not_found",
        "inferexchange": "NOT_FOUND",
    }

    found = client.get("models")
    missing = client.get("models/no-such-model")
    nowhere = client.get("nowhere")

    assert found.status == 200
    assert (missing.status, missing.error["code"]) == (404, expected[profile])
    assert nowhere.status == 404
    for answer in (found, missing, nowhere):
        assert answer.headers["x-compat-profile"] == profile


def test_a_hidden_model_of_bud_is_found_by_no_name(site: Site) -> None:
    client = client_of(site, "bud", path=CHAT, allowed_models=["qwen3-4b"])

    for name in ("hidden-model", "tensorzero::model_name::hidden-model", "hidden-model:chat"):
        answer = client.ask(model=name)
        assert (answer.status, answer.error["message"]) == (
            404,
            f"The model {name} does not exist.",
        )
    assert client.ask(model="qwen3-4b:chat").json["model"] == "qwen3-4b"


def body_of(size: int) -> bytes:
    """Return a call whose body has exactly so many bytes."""
    start, end = b'{"model":"qwen3-4b","messages":[{"role":"user","content":"x"}]', b"}"
    return start + b" " * (size - len(start) - len(end)) + end


@pytest.mark.parametrize(("profile", "most"), [("unified", 50 << 20), ("inferexchange", 1 << 20)])
def test_bodies_may_be_so_long(site: Site, profile: str, most: int) -> None:
    client: Client = client_of(site, profile)

    longest = client.ask(raw=body_of(most), stream=False)
    too_long = client.ask(raw=body_of(most + 1))

    assert longest.status == 200
    assert too_long.status == 413


@pytest.mark.parametrize(("profile", "status"), [("unified", 400), ("inferexchange", 422)])
def test_json_that_is_malformed(site: Site, profile: str, status: int) -> None:
    answer = client_of(site, profile).ask(raw=b"{")

    assert answer.status == status
    assert answer.error["code"] in ("invalid_json", "INVALID_JSON")
