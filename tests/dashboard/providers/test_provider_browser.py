"""A provider is tested when it is saved and by a button, and its state follows the calls."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.browser import Watched, sign_in, watched_page
from tests.fakes.asking import script
from tests.support.ports import free_port
from tests.support.servers import GatewayServer, UpstreamServer, running_gateway
from tests.support.waiting import wait_until

pytestmark = pytest.mark.slow

WRONG, RIGHT = "sk-wrong-5f1e0c77", "sk-right"


@pytest.fixture(scope="module")
def site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayServer]:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("providers") / "home"))
    with running_gateway(home) as server:
        yield server


@pytest.fixture
def operator(browser: Browser, site: GatewayServer) -> Iterator[Watched]:
    with watched_page(browser, site) as watched:
        sign_in(watched, site.email, site.password)
        yield watched


def open_providers(watched: Watched) -> None:
    watched.page.get_by_role("link", name="Providers").first.click()


def add_provider(site: GatewayServer, upstream: UpstreamServer, name: str) -> None:
    kind = ("--kind", "openai_compatible")
    site.manage("add_provider", name, *kind, "--base-url", upstream.base_url)


def test_a_wrong_address_a_wrong_key_and_the_right_ones_take_four_clicks(
    operator: Watched, site: GatewayServer, upstream: UpstreamServer
) -> None:
    page, clicks = operator.page, 0
    open_providers(operator)

    page.get_by_role("link", name="Add provider").click()
    clicks += 1
    page.get_by_label("Name", exact=True).fill("keyed")
    page.get_by_label("Kind").select_option("openai_compatible")
    page.get_by_label("Base URL").fill(f"http://127.0.0.1:{free_port()}/v1")
    page.get_by_role("textbox", name="Credential").fill(WRONG)
    page.get_by_role("button", name="Add provider").click()
    clicks += 1
    connection = page.locator("#provider-connection")
    expect(connection).to_contain_text("Connection refused: nothing listens at 127.0.0.1")
    expect(connection.locator(".badge")).to_have_text("Failing")

    page.get_by_label("Base URL").fill(f"{upstream.origin}/keyed/v1")
    page.get_by_role("textbox", name="Credential").fill(WRONG)
    page.get_by_role("button", name="Save").click()
    clicks += 1
    expect(connection).to_contain_text("The key was rejected: it answered 401 (Unauthorized).")
    page_with_wrong_key = page.content()

    page.get_by_role("textbox", name="Credential").fill(RIGHT)
    page.get_by_role("button", name="Save").click()
    clicks += 1
    expect(connection).to_contain_text("Reachable. It lists 1 model.")
    expect(connection.locator(".badge")).to_have_text("Reachable")

    assert clicks == 4
    assert WRONG not in page_with_wrong_key
    assert not {WRONG, RIGHT} & set(site.log.read_text().split())


def test_another_kind_keeps_what_was_typed_and_sends_no_secret(operator: Watched) -> None:
    page, sent = operator.page, list[str]()
    operator.open("/providers/new")
    page.on("request", lambda request: sent.append(request.post_data or ""))
    page.get_by_label("Name", exact=True).fill("moved")
    page.get_by_label("Kind").select_option("openai")
    page.get_by_role("textbox", name="Credential").fill(RIGHT)
    page.get_by_label("Base URL").fill("https://up.example.com/v1")
    page.get_by_label("On-premises").check()

    with page.expect_response("**/providers/new"):
        page.get_by_label("Kind").select_option("vllm")

    expect(page.get_by_label("Guided decoding")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_value("moved")
    expect(page.get_by_label("Base URL")).to_have_value("https://up.example.com/v1")
    expect(page.get_by_role("textbox", name="Credential")).to_have_value(RIGHT)
    expect(page.get_by_label("On-premises")).to_be_checked()
    assert any("kind=vllm" in body for body in sent)
    assert not any(RIGHT in body for body in sent)


def test_what_works_is_not_replaced_by_what_fails_without_asking(
    operator: Watched, site: GatewayServer, upstream: UpstreamServer
) -> None:
    add_provider(site, upstream, "steady")
    page = operator.page
    open_providers(operator)
    row = page.get_by_role("row").filter(has_text="steady")
    expect(row.locator(".badge")).to_have_text("Untested")
    row.get_by_role("link").click()
    page.get_by_role("button", name="Test connection").click()
    expect(page.locator("#provider-connection .badge")).to_have_text("Reachable")

    page.get_by_label("Base URL").fill(f"{upstream.origin}/nowhere/v1")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("No API at this path")
    kept = site.manage("test_provider", "steady")["base_url"]
    page.get_by_role("button", name="Save anyway").click()
    expect(page.locator("#provider-connection .badge")).to_have_text("Failing")

    assert kept == upstream.base_url
    assert site.manage("test_provider", "steady")["outcome"] == "not_found"


def test_calls_change_the_state_and_an_unknown_model_is_warned_of(
    operator: Watched, site: GatewayServer, upstream: UpstreamServer
) -> None:
    add_provider(site, upstream, "served")
    page = operator.page
    operator.open("/models/new?provider=served")
    page.get_by_label("Name", exact=True).fill("some-model")
    page.get_by_label("Provider model ID").fill("fakee")
    page.get_by_label("Input", exact=True).fill("1")
    page.get_by_label("Output", exact=True).fill("2")
    page.get_by_label("Max output tokens").fill("1000")
    page.get_by_role("button", name="Add model").click()
    expect(page.locator(".toast-warn")).to_contain_text(
        "does not list a model fakee. Similar: fake."
    )
    site.wait_for_model("some-model")
    client = openai.OpenAI(base_url=site.base_url, api_key=site.key, max_retries=0)

    def call(prompt: str) -> None:
        client.chat.completions.create(
            model="some-model", messages=[{"role": "user", "content": prompt}]
        )

    def state() -> str:
        operator.open("/providers")
        return page.get_by_role("row").filter(has_text="served").locator(".badge").inner_text()

    def reaches(wanted: str) -> None:
        wait_until(lambda: state() == wanted, what=f"the provider to be {wanted}")

    reaches("Reachable")
    with pytest.raises(openai.InternalServerError):
        call(script(fail=500))
    reaches("Failing")
    page.get_by_role("link", name="served").click()
    expect(page.locator("#provider-connection")).to_contain_text("Calls fail.")
    expect(page.locator("#provider-connection")).to_contain_text("Since ")
    with pytest.raises(openai.BadRequestError):
        call("script:nonsense=1")
    reaches("Reachable")
