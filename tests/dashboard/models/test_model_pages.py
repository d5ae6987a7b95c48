"""The pages of models: what is listed, what a form takes and refuses, and who is told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from accounts.models import AuditEvent, ConfigChange, User
from dashboard.models.forms import initial_of_model, model_version
from gateway.models import LanguageModel
from gateway.services.models import set_model_enabled
from gateway.services.providers import set_provider_enabled
from tests.dashboard.visitors import HTMX, signed_in
from tests.factories import ACTOR, make_model, make_provider, make_user, make_workspace

pytestmark = pytest.mark.django_db

LIST, NEW = "/models", "/models/new"


@pytest.fixture
def operator() -> User:
    make_workspace()
    return make_user(is_operator=True)


@pytest.fixture
def client(operator: User) -> Client:
    return signed_in(operator)


def new_form(**fields: Any) -> dict[str, Any]:
    """Return what the form of a new model posts; fields change single ones."""
    return {
        "name": "qwen-3",
        "provider": "up",
        "input_usd": "0.15",
        "output_usd": "0.60",
        "max_output_tokens": "8192",
        "unknown_fields": "forward",
        "template_render_mode": "off",
    } | fields


def edit_form(model: LanguageModel, **fields: Any) -> dict[str, Any]:
    """Return what the form of a model posts that nobody has touched but for fields."""
    shown = {name: value for name, value in initial_of_model(model).items() if value is not None}
    return shown | fields


def listed(page: Any) -> list[str]:
    return [row.model.name for row in page.context["table"].items]


def test_the_list_names_the_state_of_a_model_at_every_width(client: Client) -> None:
    off = make_model("off")
    set_model_enabled(off, enabled=False, actor=ACTOR)
    make_model("on")

    page = client.get(LIST).content.decode()

    narrow = re.findall(r'class="narrow-only">\s*<span class="badge">(\w+)', page)
    assert narrow == ["Disabled"]


def test_a_model_is_made_with_all_that_callers_are_told(client: Client, operator: User) -> None:
    make_provider("up")

    answer = client.post(
        NEW,
        new_form(
            native_model="Qwen/Qwen3",
            aliases="qwen, Qwen/Qwen3",
            context_tokens="131072",
            supports_vision="no",
            supports_tools="yes",
            operation="embeddings",
            unknown_fields="reject",
            default_params='{"temperature": 0.2}',
        ),
    )

    model = LanguageModel.objects.get()
    target = model.targets.get()
    assert (answer.status_code, answer["Location"]) == (302, f"/models/{model.pk}")
    assert (model.input_pusd_per_token, model.cached_input_pusd_per_token) == (150_000, 150_000)
    assert (model.output_pusd_per_token, model.context_tokens) == (600_000, 131_072)
    assert (model.supports_vision, model.supports_tools) == (False, True)
    assert (model.supports_audio, model.unknown_fields) == (None, "reject")
    assert model.operation == "embeddings"
    assert (model.default_params, model.owned_by) == ({"temperature": 0.2}, "up")
    assert (target.provider.name, target.native_model) == ("up", "Qwen/Qwen3")
    assert model.aliases == ["qwen", "Qwen/Qwen3"]
    assert AuditEvent.objects.get(action="model.add").actor == operator.email


def test_models_to_fall_back_to_are_set_on_the_page(client: Client) -> None:
    model, _ = make_model("qwen"), make_model("llama")

    refused = client.post(f"/models/{model.pk}", edit_form(model, fallbacks="llama, nobody"))
    saved = client.post(f"/models/{model.pk}", edit_form(model, fallbacks="llama"), follow=True)

    assert list(refused.context["form"].errors) == ["fallbacks"]
    assert 'value="llama"' in saved.content.decode()
    model.refresh_from_db()
    assert model.fallbacks == ["llama"]


def test_without_providers_one_is_asked_for_first(client: Client) -> None:
    page = client.get(NEW).content.decode()

    assert "No providers yet" in page
    assert "/providers/new" in page


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "two words"}),
        ("name", {"name": "taken"}),
        ("provider", {"provider": "nobody"}),
        ("native_model", {"native_model": "a\u202eb"}),
        ("input_usd", {"input_usd": ""}),
        ("input_usd", {"input_usd": "-1"}),
        ("output_usd", {"output_usd": "cheap"}),
        ("output_usd", {"output_usd": "2000000"}),
        ("cached_usd", {"cached_usd": "0.0000001"}),
        ("max_output_tokens", {"max_output_tokens": "0"}),
        ("max_output_tokens", {"max_output_tokens": str(2**31)}),
        ("context_tokens", {"context_tokens": "many"}),
        ("supports_pdf", {"supports_pdf": "perhaps"}),
        ("unknown_fields", {"unknown_fields": "guess"}),
        ("default_params", {"default_params": "{"}),
        ("default_params", {"default_params": "[1]"}),
        ("default_params", {"default_params": '{"api_base": "http://elsewhere"}'}),
        ("default_params", {"default_params": '{"max_tokens": 1}'}),
    ],
)
def test_what_cannot_be_taken_is_named_and_nothing_is_made(
    client: Client, field: str, fields: dict[str, Any]
) -> None:
    make_model("taken", provider=make_provider("up"))

    answer = client.post(NEW, new_form(**fields))

    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert LanguageModel.objects.count() == 1


def test_a_form_that_nobody_touched_changes_nothing(client: Client) -> None:
    model = make_model(
        aliases=["b", "a"], default_params={"top_p": 0.5}, supports_pdf=False, cached_input_pusd=1
    )
    before = ConfigChange.objects.count()

    answer = client.post(f"/models/{model.pk}", edit_form(model), follow=True)

    assert "Nothing changed." in answer.content.decode()
    assert ConfigChange.objects.count() == before
    assert LanguageModel.objects.get() == model


def test_an_edit_is_saved_and_in_the_ledger(client: Client, operator: User) -> None:
    model = make_model()
    form = edit_form(model, input_usd="3", supports_audio="no", unknown_fields="drop")

    answer = client.post(f"/models/{model.pk}", form, follow=True)

    page = answer.content.decode()
    model.refresh_from_db()
    assert (model.input_pusd_per_token, model.cached_input_pusd_per_token) == (3 * 10**6,) * 2
    assert (model.supports_audio, model.unknown_fields) == (False, "drop")
    assert set(
        AuditEvent.objects.filter(actor=operator.email).values_list("action", flat=True)
    ) == {
        "model.update",
        "model.set_prices",
    }
    assert "Changed audio, unknown parameters" in page
    assert "Prices changed" in page


def test_of_an_edit_that_cannot_be_no_part_is_made(client: Client) -> None:
    model = make_model()
    form = edit_form(model, display_name="New", input_usd="2000000")

    answer = client.post(f"/models/{model.pk}", form)

    assert (answer.status_code, list(answer.context["form"].errors)) == (422, ["input_usd"])
    assert LanguageModel.objects.get().display_name == ""


def test_the_second_of_two_people_who_edit_at_once_is_told(client: Client) -> None:
    model = make_model()
    seen = model_version(model)

    client.post(f"/models/{model.pk}", edit_form(model, description="First"))
    late = client.post(f"/models/{model.pk}", edit_form(model, description="Second", seen=seen))

    assert late.status_code == 409
    assert '<a href="">reload the page</a>' in late.content.decode()
    assert LanguageModel.objects.get().description == "First"


def test_a_prompt_is_kept_as_it_is_typed(client: Client) -> None:
    model = make_model()
    typed = " Be kind.\r\n\r\nToday: {{ now_date }}\r\n"
    form = edit_form(model, default_system_prompt=typed, template_render_mode="vars")

    client.post(f"/models/{model.pk}", form)

    model.refresh_from_db()
    assert model.default_system_prompt == typed.replace("\r\n", "\n")
    again = client.post(f"/models/{model.pk}", edit_form(model), follow=True)
    assert "Nothing changed." in again.content.decode()
    assert "Changed default system prompt, template variables" in again.content.decode()


def test_a_template_that_does_not_compile_is_refused_with_its_line(client: Client) -> None:
    model = make_model()
    form = edit_form(model, template_render_mode="logic", default_system_prompt="a\n{% if x %}")

    answer = client.post(f"/models/{model.pk}", form)

    assert answer.status_code == 422
    assert "Line 2:" in answer.context["form"].errors["default_system_prompt"][0]
    assert LanguageModel.objects.get().default_system_prompt == ""


@pytest.mark.parametrize(
    ("mode", "prompt", "shown"),
    [
        ("off", "{{ model_id }} <b>", ["{{ model_id }} &lt;b&gt;"]),
        ("vars", "{{ model_id }} of {{ org_name }}", ["qwen-3 of Acme"]),
        ("vars", "{{ now_unix }} {{ request_id }}", ["now_unix, request_id change with each call"]),
        ("vars", "{{ now_iso }}", ["now_iso changes with each call"]),
        ("vars", "{{ now_hour }} {{ nobody.x }}", ["changes every hour", "Unknown: nobody.x"]),
        ("logic", "{% if request_id %}{{ 6 * 7 }}{% endif %}", ["request_id changes", ">42<"]),
        ("logic", "a\r\n{% if", ["Line 2:"]),
        ("logic", "", ["(nothing)"]),
        ("vars", "x" * 40_000, ["At most 32768 characters"]),
        ("magic", "plain", ["plain"]),
    ],
)
def test_a_prompt_can_be_looked_at_before_it_is_saved(
    client: Client, mode: str, prompt: str, shown: list[str]
) -> None:
    form = {"template_render_mode": mode, "default_system_prompt": prompt}

    of_one = client.post("/models/preview?model=qwen-3", form, headers=HTMX)
    of_a_new_one = client.post("/models/preview", form | {"name": "qwen-3"}, headers=HTMX)

    text = of_one.content.decode()
    assert [words for words in shown if words not in text] == []
    assert text.strip().startswith('<div class="stack stack-tight" id="prompt-preview"')
    assert ("qwen-3" in of_a_new_one.content.decode()) == ("qwen-3" in text)
    assert not LanguageModel.objects.exists()


def test_a_preview_is_for_operators(client: Client) -> None:
    assert signed_in(make_user()).post("/models/preview", {}).status_code in (403, 404)


def test_a_model_is_switched_off_and_on(client: Client) -> None:
    model = make_model()
    url = f"/models/{model.pk}/switch"

    states = []
    for form in ({}, {}, {"enabled": "on"}):
        client.post(url, form)
        states.append(LanguageModel.objects.get().enabled)

    assert states == [False, False, True]
    actions = AuditEvent.objects.filter(target=model.name).order_by("id")
    assert list(actions.values_list("action", flat=True)) == [
        *("model.add", "model.disable", "model.enable")
    ]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["away", "off", "on"]),
        ("?state=offered", ["on"]),
        ("?state=other", ["away", "off"]),
        ("?q=OF", ["off"]),
        ("?provider=gone", ["away"]),
        ("?state=nonsense", ["away", "off", "on"]),
        ("?q=%00", []),
        ("?provider=%00", []),
        ("?q=nothing-like-it", []),
    ],
)
def test_the_list_is_filtered_by_its_address(client: Client, query: str, names: list[str]) -> None:
    make_model("on")
    set_model_enabled(make_model("off"), enabled=False, actor=ACTOR)
    gone = make_provider("gone")
    make_model("away", provider=gone)
    set_provider_enabled(gone, enabled=False, actor=ACTOR)

    page = client.get(LIST + query)

    assert listed(page) == names


def test_the_list_shows_prices_and_abilities(client: Client) -> None:
    make_model(input_pusd=37_500, supports_vision=True, supports_tools=False)

    page = client.get(LIST).content.decode()

    assert "USD per million tokens" in page
    assert "$0.0375" in page
    assert ">images<" in page
    assert ">no tools<" in page


def test_a_long_list_is_cut_and_says_so(client: Client) -> None:
    provider = make_provider("up")
    for number in range(201):
        make_model(f"model-{number:03}", provider=provider)

    page = client.get(LIST)

    assert len(listed(page)) == 200
    assert "the first 200 by name" in page.content.decode()


def test_htmx_gets_the_table_and_everybody_else_the_page(client: Client) -> None:
    part = client.get(LIST, headers=HTMX)
    back = client.get(LIST, headers=HTMX | {"HX-History-Restore-Request": "true"})

    assert part.content.strip().startswith(b'<section id="model-table"')
    assert b"<!doctype html>" in back.content


def test_the_palette_finds_models_for_operators_alone(client: Client) -> None:
    make_model("qwen-3")
    member = signed_in(make_user())

    assert "qwen-3" in client.get("/search?q=qwen").content.decode()
    assert "qwen-3" not in member.get("/search?q=qwen").content.decode()
