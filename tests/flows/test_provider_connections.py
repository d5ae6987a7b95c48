"""A provider reached by a proxy: set by command, obeyed by running gateways, tested, shown."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.site import Site, running_site
from tests.support.proxy import running_proxy
from tests.support.servers import run_manage
from tests.support.waiting import wait_until

CREDENTIAL = "gateway:canary 5f1e0c77"
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


@pytest.fixture(scope="module")
def site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("proxied") / "home"))
    with running_site(home) as running:
        yield running


@pytest.fixture(autouse=True)
def _variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "PROXY_PASSWORD", CREDENTIAL)


def test_calls_and_tests_go_by_the_proxy_within_a_second(site: Site) -> None:
    caller = site.caller()
    assert caller.ask().status == 200
    with running_proxy(CREDENTIAL) as proxy:
        options = ("--proxy", proxy.url, "--proxy-credential-env", "PROXY_PASSWORD")
        told = site.gateway.manage("set_provider", "fake", *options)
        assert (told["used_transport"], told["proxy"]) == ("httpx", proxy.url)
        assert told["has_proxy_credential"]
        assert "canary" not in json.dumps(told)

        wait_until(lambda: caller.ask().status == 200 and proxy.seen, what="calls by the proxy")
        seen = len(proxy.seen)
        streamed = caller.ask("script:tokens=50", stream=True)
        assert streamed.status == 200
        assert site.record(streamed.call_id)["status"] == "ok"
        assert len(proxy.seen) >= seen
        tested = site.gateway.manage("test_provider", "fake")
        assert tested["reachable"], tested
        assert any(line.startswith("GET ") for line, _ in proxy.seen)

    # The proxy is gone: nothing was sent, and nothing is charged.
    answer = caller.ask()
    assert answer.status == 502
    assert site.record(answer.call_id)["charge_nusd"] == 0
    tested = site.gateway.manage("test_provider", "fake")
    assert "nothing listens at the proxy" in tested["message"]

    with running_proxy("another:one") as proxy:
        site.gateway.manage(
            "set_provider", "fake", "--proxy", proxy.url, "--proxy-credential-env", "PROXY_PASSWORD"
        )
        tested = site.gateway.manage("test_provider", "fake")
        assert (tested["reachable"], tested["outcome"]) == (False, "proxy_refused")
        assert "407" in tested["message"]
        assert "canary" not in tested["message"]

    told = site.gateway.manage("set_provider", "fake", "--proxy", "")
    assert (told["used_transport"], told["has_proxy_credential"]) == ("direct", False)
    wait_until(lambda: caller.ask().status == 200, what="calls without the proxy")


@BOTH
def test_what_the_proxy_is_shown_is_in_no_answer_and_no_log(site: Site, stream: bool) -> None:
    with running_proxy(CREDENTIAL, echoes=True) as proxy:
        site.office.do("provider", name=f"echo-{stream}".lower(), base_url=site.upstream.base_url)
        options = ("--proxy", proxy.url, "--proxy-credential-env", "PROXY_PASSWORD")
        site.gateway.manage("set_provider", f"echo-{stream}".lower(), *options)
        name = site.add_model(f"echoed-{stream}".lower(), provider=f"echo-{stream}".lower())

        answer = site.caller().ask(model=name, stream=stream)

        assert answer.status == 400
        [(_, shown)] = proxy.seen
        for secret in ("canary", shown.removeprefix("Basic ")):
            assert secret not in str(answer.body)
            assert secret not in site.gateway.log.read_text()


def test_a_call_by_httpx_that_a_caller_leaves_ends_at_the_provider(site: Site) -> None:
    site.office.do("provider", name="plain", base_url=site.upstream.base_url)
    site.gateway.manage("set_provider", "plain", "--transport", "httpx")
    name = site.add_model("by-httpx", provider="plain")
    caller = site.caller()
    with caller.begin(
        "script:tokens=9000&delay_ms=1&stall_after=250", model=name, stream=True
    ) as live:
        live.wait_for_tokens(250)
        live.leave()

    site.wait_for_try(live.call_id, state="cancelled")
    assert site.record(live.call_id)["status"] == "cancelled"


@pytest.mark.parametrize(
    ("options", "part"),
    [
        (("--proxy", "socks5://proxy.example:1080"), "http:// or https://"),
        (("--proxy", "http://name:word@proxy.example:3128"), "not in the URL"),
        (("--proxy", "http://169.254.169.254:3128"), "link-local"),
        (("--proxy-credential-env", "PROXY_PASSWORD"), "URL of the proxy"),
        (("--proxy", "http://p:1", "--transport", "direct"), "Direct connections"),
        (("--proxy", "http://p:1", "--proxy-credential-env", "NOBODYS"), "NOBODYS is empty"),
        (("--ca-file", "pyproject.toml"), "not a PEM certificate"),
        (("--client-key-file", "/nowhere"), "cannot be read"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(
    site: Site, options: tuple[str, ...], part: str
) -> None:
    site.gateway.manage("set_provider", "fake", "--proxy", "")

    done = run_manage(site.gateway.home, "set_provider", "fake", *options, "--json")

    assert done.returncode == 1
    assert part in done.stdout + done.stderr
    assert "word@" not in done.stdout + done.stderr
