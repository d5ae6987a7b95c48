"""The commands that operators script, in this process: what they answer and what they refuse."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import LedgerEntry, Membership, Role, Wallet, Workspace
from gateway.models import LanguageModel, Provider
from gateway.services.credential_encryption import encrypt
from gateway.services.mandatory_processors import requirable_processors
from keys.management.commands.issue_key import read_moment
from keys.management.limit_options import write_limits
from keys.models import ApiKey
from keys.services import digest_secret
from tests.factories import make_key, make_provider, make_user, make_workspace, stored_credential

pytestmark = pytest.mark.django_db


def ask(*words: str) -> dict[str, Any]:
    """Run a command with --json and return the one object that standard output then holds."""
    out, err = io.StringIO(), io.StringIO()
    call_command(*words, "--json", stdout=out, stderr=err)
    assert err.getvalue() == ""
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def refusal_of(*words: str) -> str:
    """Run a command that fails and return its sentence, the same with --json and without."""
    out = io.StringIO()
    with pytest.raises(CommandError) as plain:
        call_command(*words, stdout=out, stderr=out)
    with pytest.raises(CommandError) as encoded:
        call_command(*words, "--json", stdout=out, stderr=out)
    assert out.getvalue() == ""
    assert json.loads(str(encoded.value)) == {"error": str(plain.value)}
    return str(plain.value)


def test_a_workspace_is_created_with_credit_and_an_owner() -> None:
    owner = make_user("ann@example.com")

    answer = ask("create_workspace", "Acme Ltd", "--credit", "12.5", "--owner", "Ann@example.com")

    workspace = Workspace.objects.get()
    assert answer == {
        "workspace_id": str(workspace.pk),
        "slug": "acme-ltd",
        "name": "Acme Ltd",
        "balance_nusd": 12_500_000_000,
        "balance_usd": "12.50",
    }
    assert Wallet.objects.get().posted_nusd == 12_500_000_000
    assert Membership.objects.get(user=owner).role == Role.OWNER


@pytest.mark.parametrize("credit", ["-1", "x", "1e3", "NaN", "0.0000000001", "1" * 30, ""])
def test_a_workspace_with_a_credit_that_is_not_an_amount_is_not_created(credit: str) -> None:
    refusal_of("create_workspace", "Acme", f"--credit={credit}")

    assert not Workspace.objects.exists()


def test_a_workspace_for_an_unknown_owner_is_not_created() -> None:
    sentence = refusal_of("create_workspace", "Acme", "--owner", "nobody@example.com")

    assert "nobody@example.com" in sentence
    assert not Workspace.objects.exists()


@pytest.mark.parametrize("name_it", [lambda w: str(w.pk), lambda w: w.slug, lambda w: w.name])
def test_credit_is_granted_to_a_workspace_named_in_any_way(name_it: Any) -> None:
    workspace = make_workspace("Acme Ltd", credit_nusd=1)

    answer = ask("grant_credits", name_it(workspace), "0.000000002", "--reason", "gift")

    entry = LedgerEntry.objects.latest("sequence")
    assert (answer["amount_nusd"], answer["balance_nusd"]) == (2, 3)
    assert answer["balance_usd"] == "0.000000003"
    assert (answer["entry"], entry.reason) == (entry.sequence, "gift")


@pytest.mark.parametrize(
    ("usd", "reason"), [("0", "gift"), ("x", "gift"), ("1", " "), ("1", "a\nb")]
)
def test_a_grant_without_amount_or_reason_is_refused(usd: str, reason: str) -> None:
    make_workspace()

    refusal_of("grant_credits", "acme", usd, "--reason", reason)

    assert not LedgerEntry.objects.exists()


def test_a_grant_to_nobody_is_refused() -> None:
    assert "nobody" in refusal_of("grant_credits", "nobody", "1", "--reason", "gift")


def test_a_key_is_issued_with_its_rules() -> None:
    make_workspace()

    answer = ask(
        *("issue_key", "acme", "Batch", "--model", "a", "--model", "b", "--scope", "completions"),
        *("--ip", "::ffff:203.0.113.7", "--ip", "2001:db8::/32", "--expires", "2999-01-01"),
    )

    key = ApiKey.objects.get(digest=digest_secret(answer.pop("secret")))
    assert answer == {
        "key_id": str(key.pk),
        "workspace_id": str(key.workspace_id),
        "label": "Batch",
        "compat_profile": "",
        "scopes": ["completions"],
        "allowed_models": ["a", "b"],
        "denied_models": [],
        "allowed_ips": ["203.0.113.7/32", "2001:db8::/32"],
        "denied_ips": [],
        "expires_at": "2999-01-01T00:00:00+00:00",
        **write_limits(key),
    }


def test_a_key_that_lets_everyone_in_needs_the_flag() -> None:
    make_workspace()

    sentence = refusal_of("issue_key", "acme", "Open", "--ip", "0.0.0.0/0")
    answer = ask("issue_key", "acme", "Open", "--ip", "0.0.0.0/0", "--allow-any-address")

    assert "every IP address" in sentence
    assert answer["allowed_ips"] == ["0.0.0.0/0"]


def test_everything_wrong_with_a_key_is_said_in_one_go() -> None:
    make_workspace()

    sentence = refusal_of("issue_key", "acme", " ", "--scope", "root", "--ip", "203.0.113.7/24")

    assert all(part in sentence for part in ("label:", "--scope:", "203.0.113.0/24"))
    assert not ApiKey.objects.exists()


def test_a_limit_that_cannot_be_is_named_as_its_option() -> None:
    make_workspace()

    refusals = [
        refusal_of("set_budget", "acme", "--daily-usd=-5"),
        refusal_of("set_workspace", "acme", "--max-concurrent", "0"),
        refusal_of("set_workspace", "acme", "--burst=-3"),
    ]

    assert [words.partition(" ")[0] for words in refusals] == [
        *("--daily-usd:", "--max-concurrent:", "--burst:"),
    ]


def test_a_moment_is_a_span_or_a_date() -> None:
    assert read_moment("2030-01-31") == datetime(2030, 1, 31, tzinfo=UTC)
    assert read_moment("2030-01-31T12:00:00Z") == datetime(2030, 1, 31, 12, tzinfo=UTC)
    assert read_moment("30d") > timezone.now() + timedelta(days=29)
    assert read_moment("1h") < timezone.now() + timedelta(days=1)


@pytest.mark.parametrize(
    "text", ["", "0d", "-1d", "30", "tomorrow", "2030-13-01", "999999d", "1.5d"]
)
def test_a_moment_that_is_neither_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a time"):
        read_moment(text)


def test_a_key_is_revoked_once() -> None:
    key, secret = make_key(make_workspace())

    answers = [ask("revoke_key", name) for name in (str(key.pk), secret)]

    key.refresh_from_db()
    assert [answer["changed"] for answer in answers] == [True, False]
    assert key.revoked_at is not None
    assert answers[1]["revoked_at"] == key.revoked_at.isoformat()


def test_revoking_a_key_that_is_not_there_does_not_repeat_what_was_typed() -> None:
    assert "sk-gw-typo" not in refusal_of("revoke_key", "sk-gw-typo")


def test_a_credential_comes_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UP_KEY", "sk-live")

    answer = ask("add_provider", "up", "--kind", "openai", "--credential-env", "UP_KEY")

    provider = Provider.objects.get()
    assert answer == {
        "provider_id": str(provider.pk),
        "name": "up",
        "kind": "openai",
        "base_url": "https://api.openai.com/v1",
        "settings": {},
        "has_credential": True,
        "credentials": [
            {
                "credential_id": str(provider.credentials.get().pk),
                "name": "default",
                "source": "stored",
                "variable": "",
                "hint": "",
                "weight": 1,
                "requests_per_minute": None,
                "max_concurrent": None,
                "enabled": True,
                "failure": "",
                "failure_message": "",
                "rests_until": None,
            }
        ],
        "structured_dialect": "auto",
        "server_version": "",
        "is_local": False,
        "allows_passthrough": False,
        "location": "",
        "transport": "automatic",
        "used_transport": "direct",
        "http2": False,
        "proxy": "",
        "has_proxy_credential": False,
        "has_ca": False,
        "has_client_certificate": False,
        "warnings": [],
        "enabled": True,
    }
    assert stored_credential(provider) == "sk-live"


def test_a_credential_comes_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("sk-live\n"))

    answer = ask("add_provider", "up", "--kind", "openai", "--credential-stdin")

    provider = Provider.objects.get(pk=answer["provider_id"])
    assert stored_credential(provider) == "sk-live"


def test_an_empty_source_of_a_credential_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(" \n"))

    by_variable = refusal_of("add_provider", "up", "--kind", "vllm", "--credential-env", "NO_SUCH")
    by_input = refusal_of("add_provider", "up", "--kind", "vllm", "--credential-stdin")

    assert "NO_SUCH" in by_variable
    assert "Standard input is empty" in by_input
    assert not Provider.objects.exists()


def test_a_model_is_added_with_prices_per_million_tokens() -> None:
    make_provider("up")

    answer = ask(
        *("add_model", "llama", "--provider", "up", "--native", "llama-3", "--input", "0.0375"),
        *("--output", "2", "--cached-input", "0", "--context", "8000", "--max-output", "4096"),
    )

    assert answer == {
        "model_id": str(LanguageModel.objects.get().pk),
        "name": "llama",
        "aliases": [],
        "fallbacks": [],
        "display_name": "",
        "owned_by": "up",
        "provider": "up",
        "native_model": "llama-3",
        "targets": ["llama-3 at up"],
        "input_pusd_per_token": 37_500,
        "cached_input_pusd_per_token": 0,
        "output_pusd_per_token": 2_000_000,
        "cache_write_pusd_per_token": None,
        "cache_write_1h_pusd_per_token": None,
        "research_pusd_per_token": None,
        "image_pusd": None,
        "search_pusd": None,
        "second_pusd_per_ms": None,
        "character_pusd": None,
        "context_tokens": 8_000,
        "max_output_tokens": 4_096,
        "supports": {"vision": None, "pdf": None, "audio": None, "tools": None},
        "operation": "any",
        "unknown_fields": "forward",
        "default_params": {},
        "template_render_mode": "off",
        "default_system_prompt": "",
        "enabled": True,
    }


@pytest.mark.parametrize(
    ("provider", "price", "maximum"),
    [
        ("nobody", "1", "1"),
        ("up", "-1", "1"),
        ("up", "x", "1"),
        ("up", "2000000", "1"),
        ("up", "1", "0"),
    ],
)
def test_a_model_that_cannot_work_is_refused(provider: str, price: str, maximum: str) -> None:
    make_provider("up")

    refusal_of(
        *("add_model", "llama", "--provider", provider, f"--input={price}", "--output", "1"),
        *("--max-output", maximum),
    )

    assert not LanguageModel.objects.exists()


def test_a_name_that_is_taken_is_refused_in_a_sentence() -> None:
    make_provider("up")

    refusals = [
        refusal_of("add_provider", "up", "--kind", "simulated"),
        refusal_of("add_provider", "two words", "--kind", "simulated"),
    ]

    assert refusals == ["name: up already exists.", "name: Use letters, digits, - and _."]


def test_files_younger_than_now_are_not_asked_for() -> None:
    assert refusal_of("clean_files", "--older-than-s=-1") == (
        "--older-than-s: Enter 0 or more seconds."
    )


def test_credentials_are_sealed_anew(settings: Any) -> None:
    settings.SEALING_KEYS = ["old-" * 10]
    provider = make_provider("up", kind="openai", credential="sk-live")
    settings.SEALING_KEYS = ["new-" * 10, "old-" * 10]

    answers = [ask("reseal_credentials"), ask("reseal_credentials")]

    settings.SEALING_KEYS = ["new-" * 10]
    provider.refresh_from_db()
    assert answers == [
        {"resealed": 1, "resealed_factors": 0},
        {"resealed": 0, "resealed_factors": 0},
    ]
    assert stored_credential(provider) == "sk-live"


def test_a_credential_that_does_not_open_is_named(settings: Any) -> None:
    provider = make_provider("up", kind="openai", credential="sk-live")
    settings.SEALING_KEYS = ["other-" * 8]

    sentence = refusal_of("reseal_credentials")

    assert "up" in sentence
    assert encrypt("x", provider.pk)


@pytest.mark.parametrize("name", ["nope", "haystack"])
def test_a_processor_that_cannot_be_mandatory_is_told_which_can(name: str) -> None:
    sentence = refusal_of("set_processor", make_workspace("Acme").slug, name)

    assert sentence == (
        f"processor: {name} cannot be mandatory. Use one of "
        f"{', '.join(one.name for one in requirable_processors())}."
    )
    assert "anonymise" in sentence
