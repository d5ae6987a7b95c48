"""Access rules of workspaces and keys, over real sockets: who is refused, and for what."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import Site, running_site
from tests.flows.test_admission import assert_refused, assert_written_down
from tests.support.waiting import wait_until

PROXIED = {"TOLLHOUSE_TRUSTED_PROXIES": "127.0.0.1/32", "TOLLHOUSE_COUNTRY_HEADER": "CF-IPCountry"}
OBEYED_WITHIN_S = 20
HERE, ELSEWHERE = "127.0.0.0/8", "203.0.113.0/24"


@pytest.fixture(scope="module")
def proxied_site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site behind a proxy of ours that says the country of each caller."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("proxied") / "home"))
    with running_site(home, PROXIED) as site:
        yield site


def ruled(site: Site, *, key: dict[str, Any] | None = None, **rules: Any) -> Caller:
    """Return a caller of a new workspace with these access rules, and of its key."""
    workspace_id = site.caller().workspace_id
    site.office.do("access_rules", workspace_id=workspace_id, **rules)
    return site.another_key(workspace_id, **(key or {}))


def listed(caller: Caller) -> list[str]:
    answer = caller.ask(path="/v1/models", method="GET")
    return [model["id"] for model in answer.json["data"]]


@pytest.mark.parametrize(
    ("of_workspace", "of_key", "status"),
    [
        ({"allowed_ips": [HERE]}, {"allowed_ips": ["127.0.0.1"]}, 200),
        ({"allowed_ips": [HERE]}, {}, 200),
        ({"allowed_ips": [HERE]}, {"allowed_ips": [ELSEWHERE]}, 403),
        ({"allowed_ips": [ELSEWHERE]}, {"allowed_ips": [HERE]}, 403),
        ({"denied_ips": [ELSEWHERE]}, {"denied_ips": ["::1"]}, 200),
        ({"denied_ips": [HERE]}, {"allowed_ips": [HERE]}, 403),
        ({}, {"allowed_ips": [HERE], "denied_ips": ["127.0.0.1"]}, 403),
        ({"allowed_ips": [HERE], "denied_ips": ["127.0.0.1"]}, {}, 403),
    ],
)
def test_an_address_has_to_pass_both_levels_and_a_denial_wins(
    site: Site, of_workspace: dict[str, Any], of_key: dict[str, Any], status: int
) -> None:
    caller = ruled(site, key=of_key, **of_workspace)

    answer = caller.ask()

    assert answer.status == status
    if status == 403:
        assert_refused(answer, 403, "ip_not_allowed")
        assert_written_down(site, caller, answer)


@pytest.mark.parametrize(
    ("of_workspace", "of_key", "left"),
    [
        ({"allowed_models": ["f*"]}, {}, ["fake-model", "free-model"]),
        ({"denied_models": ["f*-model"]}, {}, ["small-model"]),
        ({"allowed_models": ["*-model"]}, {"allowed_models": ["small-*"]}, ["small-model"]),
        ({"allowed_models": ["f*"]}, {"denied_models": ["fake*"]}, ["free-model"]),
        ({"denied_models": ["fake-model"]}, {"allowed_models": ["fake-model"]}, []),
    ],
)
def test_models_are_allowed_and_denied_by_patterns(
    site: Site, of_workspace: dict[str, Any], of_key: dict[str, Any], left: list[str]
) -> None:
    caller = ruled(site, key=of_key, **of_workspace)

    answers = {name: caller.with_(model=name).ask() for name in ("fake-model", "small-model")}

    names = ("fake-model", "free-model", "small-model")
    assert [name for name in listed(caller) if name in names] == left
    for name, answer in answers.items():
        if name in left:
            assert answer.status == 200
        else:
            assert_refused(answer, 403, "model_not_allowed", "model")


def test_a_denied_model_is_reached_by_no_other_name_and_by_no_fallback(site: Site) -> None:
    site.office.do("provider", name="gone", base_url="http://127.0.0.1:1/v1")
    site.add_model("denied-spare", aliases=["harmless"])
    site.add_model("gone-model", provider="gone", fallbacks=["denied-spare", "free-model"])
    caller = ruled(site, denied_models=["denied-*"])

    by_name = caller.with_(model="denied-spare").ask()
    by_prefix = caller.with_(model="tensorzero::model_name::denied-spare").ask()
    by_alias = caller.with_(model="harmless").ask()
    named = caller.ask(models=["denied-spare"])
    chained = caller.with_(model="gone-model").ask()

    assert_refused(by_name, 403, "model_not_allowed", "model")
    assert_refused(by_prefix, 403, "model_not_allowed", "model")
    assert_refused(by_alias, 403, "model_not_allowed", "model")
    assert_refused(named, 403, "model_not_allowed", "models[0]")
    assert (chained.status, chained.json["model"]) == (200, "free-model")


@pytest.mark.parametrize(
    ("user_agent", "status"),
    [
        ("curl/8.5.0", 403),
        ("Mozilla/5.0 (compatible; Python-Requests/2.31)", 403),
        ("my-curl/1", 200),
        ("OpenAI/Python 1.0", 200),
        ("", 200),
    ],
)
def test_a_program_is_blocked_by_its_user_agent(site: Site, user_agent: str, status: int) -> None:
    caller = ruled(site, denied_user_agents=["CURL/*", "python-requests"])

    answer = caller.ask(headers={"user-agent": user_agent})

    assert answer.status == status
    if status == 403:
        assert_refused(answer, 403, "request_blocked")
        assert answer.error["details"] == {"rule": "user_agent"}
        assert_written_down(site, caller, answer)


def asked_from(caller: Caller, country: str | None, **headers: str) -> Answer:
    said = {} if country is None else {"cf-ipcountry": country}
    return caller.ask(headers={"x-forwarded-for": "203.0.113.7", **said, **headers})


@pytest.mark.parametrize(
    ("rules", "country", "status"),
    [
        ({"allowed_countries": ["de", "FR"]}, "DE", 200),
        ({"allowed_countries": ["DE"]}, "fr", 403),
        ({"allowed_countries": ["DE"]}, None, 403),
        ({"allowed_countries": ["DE", "XX"]}, None, 200),
        ({"allowed_countries": ["DE"]}, "DE, FR", 403),
        ({"denied_countries": ["FR"]}, "FR", 403),
        ({"denied_countries": ["FR"]}, None, 200),
        ({"denied_countries": ["FR", "XX"]}, None, 403),
        ({"allowed_countries": ["FR"], "denied_countries": ["FR"]}, "FR", 403),
    ],
)
def test_a_country_is_allowed_or_denied_by_what_the_proxy_says(
    proxied_site: Site, rules: dict[str, Any], country: str | None, status: int
) -> None:
    caller = ruled(proxied_site, **rules)

    answer = asked_from(caller, country)

    assert answer.status == status
    if status == 403:
        assert_refused(answer, 403, "request_blocked")
        assert answer.error["details"]["rule"] == "country"


def test_a_tightened_rule_is_obeyed_by_a_running_gateway(site: Site) -> None:
    caller = site.caller()
    changes: list[tuple[dict[str, Any], str]] = [
        ({"denied_ips": [HERE]}, "ip_not_allowed"),
        ({"denied_models": ["fake-*"]}, "model_not_allowed"),
        ({"denied_user_agents": ["tester"]}, "request_blocked"),
    ]
    for rules, code in changes:
        site.office.do("access_rules", workspace_id=caller.workspace_id)
        wait_for(caller, "")
        site.office.do("access_rules", workspace_id=caller.workspace_id, **rules)
        wait_for(caller, code)


def wait_for(caller: Caller, code: str) -> None:
    """Return when a call of the caller's is refused with this code, or not at all."""

    def is_so() -> bool:
        answer = caller.ask(max_tokens=10, headers={"user-agent": "tester"})
        return (answer.error["code"] if answer.status >= 400 else "") == code

    wait_until(is_so, within_s=OBEYED_WITHIN_S, what=f"a call to get {code or 'an answer'}")
