"""What kinds of providers ask beside an address and a credential: entered, checked, applied."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from accounts.models import AuditEvent, ConfigChange
from gateway.launch.from_environment import add_found_providers
from gateway.models import Provider
from gateway.providers import catalogue
from gateway.services.provider_credentials import open_credential
from gateway.services.providers import set_access
from gateway.services.snapshot import compile_snapshot
from tests.factories import ACTOR, make_model, make_provider
from tests.support.provider_kinds import CLOUD, cloud

__all__ = ["cloud"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cloud")]

NO_REGION = "This is not a valid region, such as eu-1."
URL = "https://models.eu-1.cloud.example/v1"


def make_cloud(**fields: object) -> Provider:
    settings = {"region": "eu-1"}
    return make_provider(
        "up", **{"kind": "cloud", "credential": "sk-1", "settings": settings} | fields
    )


def run(*arguments: str) -> dict[str, object]:
    out = StringIO()
    call_command(*arguments, "--json", stdout=out)
    found: dict[str, object] = json.loads(out.getvalue())
    return found


def test_settings_fill_the_address_and_reach_the_targets_with_their_defaults() -> None:
    provider = make_cloud(settings={"region": " eu-1 ", "project": ""})
    make_model("wise", provider=provider)

    target = compile_snapshot().models["wise"].targets[0]

    assert (provider.base_url, provider.settings) == (URL, {"region": "eu-1"})
    assert (target.base_url, target.settings) == (URL, {"region": "eu-1", "stage": "v1"})
    assert AuditEvent.objects.get(action="provider.add").details["settings"] == {"region": "eu-1"}


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        ({"region": "eu-1", "stage": "beta"}, "https://models.eu-1.cloud.example/beta"),
        ({"region": "all-0"}, "https://models.cloud.example/v1"),
    ],
)
def test_one_setting_can_decide_the_address(settings: dict[str, str], url: str) -> None:
    assert make_cloud(settings=settings).base_url == url


@pytest.mark.parametrize(
    ("settings", "errors"),
    [
        ({}, {"setting_region": ["Enter the region."]}),
        ({"region": "   "}, {"setting_region": ["Enter the region."]}),
        (
            {"region": "eu-1/../x"},
            {"setting_region": [NO_REGION]},
        ),
        ({"region": "eu-1\n"}, {}),
        ({"region": "eu-1\nx"}, {"setting_region": [NO_REGION]}),
        ({"region": "eu-\u0661"}, {"setting_region": [NO_REGION]}),
        ({"region": "eu-1", "stage": "v9"}, {"setting_stage": ["Use one of v1, beta."]}),
        (
            {"region": "eu-1", "project": "x" * 201},
            {"setting_project": ["Use at most 200 characters."]},
        ),
        (
            {"region": "eu-1", "zone": "a"},
            {
                "setting_zone": [
                    "Cloud does not have a setting 'zone'. It has region, stage, project."
                ]
            },
        ),
        ({"region": "eu-1", "": "a"}, {"setting_": ["A setting needs a name."]}),
    ],
)
def test_what_cannot_be_a_setting_is_named(
    settings: dict[str, str], errors: dict[str, list[str]]
) -> None:
    if not errors:
        assert make_cloud(settings=settings).settings == {"region": "eu-1"}
        return
    with pytest.raises(ValidationError) as refusal:
        make_cloud(settings=settings)

    assert refusal.value.message_dict == errors
    assert not Provider.objects.exists()


def test_a_kind_without_settings_takes_none() -> None:
    with pytest.raises(ValidationError) as refusal:
        make_provider("up", kind="vllm", base_url="http://10.0.0.5", settings={"region": "eu-1"})

    assert refusal.value.messages == ["vLLM does not have a setting 'region'. It has none."]


def test_the_address_follows_the_settings_with_the_credential_entered_again() -> None:
    provider = make_cloud()

    with pytest.raises(ValidationError) as refusal:
        set_access(provider, settings={"region": "us-2"}, actor=ACTOR)
    assert set(refusal.value.message_dict) == {"credential"}
    provider.refresh_from_db()
    assert provider.settings == {"region": "eu-1"}

    set_access(provider, settings={"region": "us-2"}, credential="sk-2", actor=ACTOR)
    provider.refresh_from_db()
    assert provider.base_url == "https://models.us-2.cloud.example/v1"
    assert provider.settings == {"region": "us-2"}
    event = AuditEvent.objects.get(action="provider.update")
    assert event.details == {"region": ["eu-1", "us-2"]}
    assert ConfigChange.objects.filter(kind=ConfigChange.Kind.CATALOGUE).count() == 3


def test_an_address_of_ones_own_stays_whatever_the_settings() -> None:
    provider = make_cloud(base_url="https://gateway.example/v1")

    changed = [
        set_access(provider, settings={"region": "us-2"}, actor=ACTOR),
        set_access(provider, settings={"region": "us-2"}, actor=ACTOR),
    ]

    assert changed == [True, False]
    assert provider.base_url == "https://gateway.example/v1"


def test_settings_are_changed_within_a_host_without_the_credential() -> None:
    provider = make_cloud()

    set_access(provider, settings={"region": "eu-1", "stage": "beta"}, actor=ACTOR)

    provider.refresh_from_db()
    assert provider.base_url == "https://models.eu-1.cloud.example/beta"


def test_commands_take_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "sk-1")
    kind = ("--kind", "cloud", "--credential-env", "KEY")

    with pytest.raises(CommandError, match="setting_region: Enter the region"):
        run("add_provider", "up", *kind)
    with pytest.raises(CommandError, match="'eu-1' is not a setting"):
        run("add_provider", "up", *kind, "--setting", "eu-1")
    added = run("add_provider", "up", *kind, "--setting", "region=eu-1", "--setting", "project=p")
    changed = run("set_provider", "up", "--setting", "stage=beta", "--setting", "project=")

    assert added["settings"] == {"region": "eu-1", "project": "p"}
    assert changed["settings"] == {"region": "eu-1", "stage": "beta"}
    assert changed["base_url"] == "https://models.eu-1.cloud.example/beta"


@pytest.mark.parametrize("region", ["eu-1", ""])
def test_a_first_start_finds_settings_beside_the_key(
    monkeypatch: pytest.MonkeyPatch, region: str
) -> None:
    monkeypatch.setattr(catalogue, "ALL", (CLOUD,))

    add_found_providers({"CLOUD_API_KEY": "sk-1", "CLOUD_REGION": region})

    found = [provider.base_url for provider in Provider.objects.all()]
    assert found == ([URL] if region else [])


@pytest.mark.parametrize(
    "environ",
    [
        {"GEMINI_API_KEY": "sk-1"},
        {"GOOGLE_API_KEY": "sk-1"},
        {"GEMINI_API_KEY": "sk-1", "GOOGLE_API_KEY": "sk-2"},
        {"GEMINI_API_KEY": " ", "GOOGLE_API_KEY": "sk-1"},
    ],
)
def test_a_key_may_be_in_one_of_several_variables(environ: dict[str, str]) -> None:
    [added] = add_found_providers(environ)

    assert added.startswith("Google AI Studio (Gemini) (gemini-")
    [provider] = Provider.objects.all()
    [credential] = provider.credentials.all()
    assert open_credential(credential).secret == "sk-1"


def test_every_kind_declares_settings_that_its_addresses_need() -> None:
    for kind in catalogue.ALL:
        example = {each.name: each.example or each.default or "x" for each in kind.settings}
        urls = (kind.base_url, *(url for _, _, url in kind.base_urls))
        assert all("{" not in url.format_map(example) for url in urls), kind.name
