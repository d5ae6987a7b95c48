"""A running gateway obeys what operators say of models, providers and keys, without a restart."""

from __future__ import annotations

import base64
import json
import re
import urllib.parse
import urllib.request
from http.cookiejar import CookieJar
from itertools import count
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import CREDENTIAL, Site
from tests.support.pdf import write_pdf
from tests.support.waiting import wait_until

WAV = base64.b64encode(b"RIFF\x24\0\0\0WAVEfmt ").decode()
PDF = "data:application/pdf;base64," + base64.b64encode(write_pdf("Hello")).decode()
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="(\w+)"')
BLOCKS = {
    "vision": {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
    "audio": {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
    "pdf": {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
}
REFUSALS = {
    "vision": "image_not_supported_by_model",
    "audio": "audio_not_supported_by_model",
    "tools": "unsupported_parameter",
}
SHOWN = {"vision": "Vision", "audio": "Audio", "pdf": "Pdf", "tools": "Tools"}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
_numbers = count(1)


@pytest.fixture
def model(site: Site) -> str:
    """A model of the test's own."""
    return site.add_model(f"told-{next(_numbers)}")


def caller_of(site: Site, model: str) -> Caller:
    return site.caller().with_(model=model)


def upstream_body(answer: Answer) -> dict[str, Any]:
    """Return what the provider was sent, for a call scripted `echo`."""
    body: dict[str, Any] = json.loads(answer.echo["body_text"])
    return body


@pytest.mark.parametrize(
    ("ability", "members", "code"),
    [
        (
            "vision",
            {"messages": [{"role": "user", "content": [IMAGE]}]},
            "image_not_supported_by_model",
        ),
        ("tools", {"tools": [TOOL]}, "unsupported_parameter"),
    ],
)
def test_an_ability_that_a_model_lacks_is_refused_once_that_is_said(
    site: Site, model: str, ability: str, members: dict[str, Any], code: str
) -> None:
    caller = caller_of(site, model)
    before = caller.ask(**members)

    site.gateway.manage("set_model", model, "--supports", f"{ability}=no")

    def is_refused() -> bool:
        answer = caller.ask(**members)
        return answer.status == 400 and answer.error["code"] == code

    wait_until(is_refused, what=f"the lack of {ability} to be known")
    assert before.status == 200


@pytest.mark.parametrize("said", [True, False, None], ids=["yes", "no", "not said"])
def test_what_the_list_says_of_a_model_is_what_it_is_given(site: Site, said: bool | None) -> None:
    fields: dict[str, Any] = {f"supports_{ability}": said for ability in SHOWN}
    model = site.add_model(f"able-{next(_numbers)}", **fields)
    caller = caller_of(site, model)

    listed = caller.ask(method="GET", path=f"/v1/models/{model}", raw=b"").json
    says = {ability: listed[f"supports{name}"] for ability, name in SHOWN.items()}
    taken = {"tools": takes(caller, "tools", tools=[TOOL])}
    for ability, block in BLOCKS.items():
        messages = [
            {"role": "user", "content": [block]},
            {"role": "user", "content": "script:echo"},
        ]
        taken[ability] = takes(caller, ability, messages=messages)

    assert says == taken
    assert {name for name in SHOWN if name in listed["supported_features"]} == {
        name for name, is_taken in taken.items() if is_taken
    }


def takes(caller: Caller, ability: str, **members: Any) -> bool:
    """Return whether a call gets what it asks of its model: a PDF, if it arrives as one."""
    answer = caller.ask("script:echo", **members)
    if ability == "pdf":
        kinds = {block["type"] for block in upstream_body(answer)["messages"][0]["content"]}
        return "file" in kinds
    assert answer.status == 200 or answer.error["code"] == REFUSALS[ability], answer.body
    return answer.status == 200


def test_what_callers_do_not_say_is_said_for_them(site: Site, model: str) -> None:
    caller = caller_of(site, model)

    site.gateway.manage("set_model", model, "--default-params", '{"seed": 7, "top_p": 0.5}')
    wait_until(lambda: upstream_body(caller.ask("script:echo")).get("seed") == 7)

    said = upstream_body(caller.ask("script:echo", top_p=0.9))
    assert (said["seed"], said["top_p"]) == (7, 0.9)


@pytest.mark.parametrize(
    ("policy", "status", "dropped"), [("reject", 400, None), ("drop", 200, "zing")]
)
def test_members_that_nobody_knows_are_treated_as_told(
    site: Site, model: str, policy: str, status: int, dropped: str | None
) -> None:
    caller = caller_of(site, model)
    before = caller.ask("script:echo", zing=1)

    site.office.do("describe_model", name=model, unknown_fields=policy)

    def obeys() -> bool:
        answer = caller.ask(zing=1)
        shown = answer.headers.get("x-dropped-params")
        return (answer.status, shown) == (status, dropped)

    wait_until(obeys, what=f"the policy {policy}")
    assert upstream_body(before)["zing"] == 1


def test_a_model_is_called_by_its_other_names_and_answers_by_its_own(
    site: Site, model: str
) -> None:
    caller, other = caller_of(site, model), f"{model}-by-another-name"
    site.gateway.manage("set_model", model, "--aliases", f"{other}, vendor/{model}")
    wait_until(lambda: caller.ask(model=other).status == 200, what="the other name")

    for name in (f"vendor/{model}", f"{other}:chat", f"tensorzero::model_name::{other}"):
        answer = caller.ask(model=name)
        assert (answer.json["model"], answer.headers["x-model-used"]) == (model, model)
        assert site.record(answer.call_id)["requested_model"] == name
    shown = caller.ask(method="GET", path=f"/v1/models/{other}", raw=b"")
    assert (shown.status, shown.json["id"]) == (200, model)
    assert other not in site.gateway.offered()
    narrow = site.caller(allowed_models=["fake-model"]).ask(model=other)
    assert (narrow.status, narrow.error["code"]) == (403, "model_not_allowed")

    site.gateway.manage("set_model", model, "--aliases", "")
    wait_until(lambda: caller.ask(model=other).status == 404, what="the name to be gone")


def test_a_provider_can_be_named_once_its_operator_says_so(site: Site) -> None:
    provider = f"direct-{next(_numbers)}"
    site.office.do("provider", name=provider, base_url=site.upstream.base_url)
    model = site.add_model(f"told-{next(_numbers)}", provider=provider, native_model="maker/own")
    site.office.do("target", model=model, provider="fake")
    caller, name = site.caller(), f"{provider}/maker/own"
    before = caller.ask(model=name)

    site.gateway.manage("set_provider", provider, "--passthrough", "yes")
    wait_until(lambda: caller.ask(model=name).status == 200, what=f"{name} to be served")

    answer = caller.ask("script:echo", model=name)
    assert before.status == 404
    assert upstream_body(answer)["model"] == "maker/own"
    assert answer.json["model"] == answer.headers["x-model-used"] == model
    assert site.record(answer.call_id)["charge_nusd"] > 0
    for other in (f"{provider}/none", "fake/second", f"tensorzero::model_name::{provider}/none"):
        assert caller.ask(model=other).status == 404
    narrow = site.caller(allowed_models=["fake-model"]).ask(model=name)
    assert (narrow.status, narrow.error["code"]) == (403, "model_not_allowed")


def test_a_provider_is_spoken_to_in_the_dialect_that_is_set(site: Site) -> None:
    provider = f"vllm-{next(_numbers)}"
    site.office.do("provider", name=provider, kind="vllm", base_url=site.upstream.base_url)
    model = site.add_model(f"told-{next(_numbers)}", provider=provider)
    caller = caller_of(site, model)
    before = upstream_body(caller.ask("script:echo", guided_choice=["a", "b"]))

    site.gateway.manage("set_provider", provider, "--structured-dialect", "guided")

    def speaks_the_older() -> bool:
        said = upstream_body(caller.ask("script:echo", guided_choice=["a", "b"]))
        return said.get("guided_choice") == ["a", "b"] and "structured_outputs" not in said

    wait_until(speaks_the_older, what="the older dialect")
    assert before["structured_outputs"] == {"choice": ["a", "b"]}


def test_another_credential_is_shown_from_now_on(site: Site) -> None:
    provider = f"up-{next(_numbers)}"
    base_url = site.upstream.base_url
    site.office.do("provider", name=provider, base_url=base_url, credential=CREDENTIAL)
    caller = caller_of(site, site.add_model(f"told-{next(_numbers)}", provider=provider))

    site.gateway.manage("set_provider", provider, "--credential-stdin", stdin="sk-second\n")

    def shown() -> str:
        return str(dict(caller.ask("script:echo").echo["headers"])["authorization"])

    wait_until(lambda: shown() == "Bearer sk-second", what="the other credential")


def test_a_key_speaks_as_the_product_that_is_chosen_for_it(site: Site) -> None:
    caller = site.caller()

    site.office.do("compatibility", key_id=caller.key_id, compat_profile="bud")

    wait_until(lambda: caller.ask().headers.get("x-compat-profile") == "bud")


class Visitor:
    """Somebody signed in at the pages of a running gateway, without a browser."""

    def __init__(self, site: Site) -> None:
        self._origin = site.gateway.origin
        jar = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(jar)
        self.post("/sign-in", login=site.gateway.email, password=site.gateway.password)

    def get(self, path: str) -> str:
        with self._opener.open(self._origin + path, timeout=60) as answer:
            return str(answer.read().decode())

    def post(self, path: str, *, form_at: str = "", **fields: str) -> str:
        """Send a form. form_at: the page it stands on, where that is not its own address. A path
        that names no workspace leads to the visitor's."""
        with self._opener.open(self._origin + (form_at or path), timeout=60) as page:
            found = TOKEN.search(page.read().decode())
            url = self._origin + path if form_at else page.geturl()
        assert found, path
        body = urllib.parse.urlencode(fields | {"csrfmiddlewaretoken": found[1]}).encode()
        with self._opener.open(url, data=body, timeout=60) as answer:
            return str(answer.read().decode())


def test_what_is_done_in_the_pages_holds_for_calls(site: Site, model: str) -> None:
    caller, visitor = caller_of(site, model), Visitor(site)
    found = re.search(r'href="(/models/[\w-]{36})"', visitor.get(f"/models?q={model}"))
    assert found
    page = found[1]

    visitor.post(f"{page}/switch", form_at=page)
    wait_until(lambda: caller.ask().status == 404, what="the model to be gone")
    visitor.post(f"{page}/switch", form_at=page, enabled="on")

    wait_until(lambda: caller.ask().status == 200, what="the model to be back")
    assert "Enabled" in visitor.get(page)
