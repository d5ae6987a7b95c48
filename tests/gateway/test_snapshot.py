"""The catalogue and a key, compiled for the hot path."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from ipaddress import ip_network

import pytest
from django.db import DatabaseError, connection
from django.test.utils import CaptureQueriesContext

from accounts.models import ConfigChange
from accounts.services import lock_workspace, set_stores_bodies
from gateway.admission.ip_rules import may_call_from
from gateway.core.money import Price
from gateway.models import Provider
from gateway.services.models import add_target, set_model_enabled, set_prices
from gateway.services.providers import set_provider_enabled
from gateway.services.snapshot import compile_snapshot
from gateway.stores.key_records import load_key_records
from keys.models import ApiKey
from keys.services import digest_secret, revoke_key
from tests.factories import ACTOR, make_key, make_model, make_provider, make_workspace

pytestmark = pytest.mark.django_db


def test_an_empty_catalogue_is_a_snapshot_too() -> None:
    snapshot = compile_snapshot()

    assert (snapshot.version, dict(snapshot.models)) == (0, {})


def test_a_model_is_compiled_with_its_prices_targets_and_secrets() -> None:
    provider = make_provider("up", kind="openai", credential="sk-live")
    make_model("llama", provider=provider, native_model="llama-3", context_tokens=8_000)

    model = compile_snapshot().models["llama"]

    [target] = model.targets
    assert model.price == target.price == Price(1_000_000, 1_000_000, 2_000_000)
    assert (model.context_tokens, model.max_output_tokens) == (8_000, 4_096)
    assert (model.display_name, model.owned_by) == ("llama", "up")
    assert (target.provider, target.kind, target.native_model) == ("up", "openai", "llama-3")
    assert (target.base_url, target.secret) == ("https://api.openai.com/v1", "sk-live")


def test_the_version_is_that_of_the_newest_change() -> None:
    model = make_model()

    before = compile_snapshot().version
    set_prices(model, input_pusd=3_000_000, output_pusd=4_000_000, actor=ACTOR)
    after = compile_snapshot().version

    assert before < after == ConfigChange.objects.latest("id").pk


def test_what_is_switched_off_is_not_offered() -> None:
    keeps_one, loses_all, off = make_model("keeps"), make_model("loses"), make_model("off")
    spare = make_provider("spare")
    add_target(keeps_one, provider=spare, native_model="keeps", actor=ACTOR)

    for model in (keeps_one, loses_all):
        set_provider_enabled(model.targets.all()[0].provider, enabled=False, actor=ACTOR)
    set_model_enabled(off, enabled=False, actor=ACTOR)

    snapshot = compile_snapshot()
    assert list(snapshot.offered()) == ["keeps"]
    assert [target.provider for target in snapshot.models["keeps"].targets] == ["spare"]


@pytest.mark.parametrize(
    "broken", [{"secret": b"rubbish"}, {"kind": "unheard-of"}], ids=["credential", "kind"]
)
def test_a_broken_provider_is_left_out_and_logged_and_the_rest_is_served(
    broken: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    make_model("good")
    lost = make_provider("lost", kind="openai", credential="sk-lost")
    make_model("bad", provider=lost)
    rows = lost.credentials if "secret" in broken else Provider.objects.filter(pk=lost.pk)
    rows.update(**broken)

    with caplog.at_level(logging.WARNING):
        snapshot = compile_snapshot()

    assert list(snapshot.offered()) == ["good"]
    assert "Provider lost is left out" in caplog.text
    assert "Model bad has no usable target" in caplog.text


def test_compiling_takes_as_many_queries_for_many_models_as_for_one() -> None:
    provider = make_provider("up")
    counts = []
    for number in range(3):
        make_model(f"m{number}", provider=provider)
        with CaptureQueriesContext(connection) as queries:
            compile_snapshot()
        counts.append(len(queries))

    assert len(set(counts)) == 1


def test_a_key_is_found_and_compiled_with_two_queries() -> None:
    workspace = make_workspace()
    expires_at = datetime(2999, 1, 1, tzinfo=UTC)
    rules = {"allowed_models": ["m"], "allowed_ips": ["203.0.113.0/24", "2001:db8::7"]}
    key, secret = make_key(workspace, scopes=["completions"], expires_at=expires_at, **rules)

    with CaptureQueriesContext(connection) as queries:
        record = load_key_records([digest_secret(secret)])[0]

    assert len(queries) == 2
    assert record is not None
    assert (record.key_id, record.workspace_id) == (str(key.pk), str(workspace.pk))
    assert record.scopes == frozenset({"completions"})
    assert [record.may_use(name) for name in ("m", "n")] == [True, False]
    assert record.addresses is not None
    assert record.addresses.allowed == (
        (ip_network("203.0.113.0/24"), ip_network("2001:db8::7/128")),
    )
    assert record.callers is None
    assert record.expires_at == expires_at.timestamp()
    assert not any((record.revoked, record.workspace_locked, record.stores_bodies))


def test_a_key_without_rules_has_none_of_its_workspace_either() -> None:
    _, secret = make_key(make_workspace())

    record = load_key_records([digest_secret(secret)])[0]

    assert record is not None
    assert (record.models, record.addresses, record.callers) == (None, None, None)


def test_an_empty_list_of_networks_lets_nobody_in() -> None:
    _, secret = make_key(make_workspace(), allowed_ips=[])

    record = load_key_records([digest_secret(secret)])[0]

    assert record is not None
    assert record.addresses is not None
    assert not may_call_from(record.addresses, "203.0.113.7")


def test_what_happened_to_key_and_workspace_shows_in_the_record() -> None:
    workspace = make_workspace()
    key, secret = make_key(workspace)
    revoke_key(key, actor=ACTOR)
    lock_workspace(workspace, reason="unpaid", actor=ACTOR)
    set_stores_bodies(workspace, stores_bodies=True, actor=ACTOR)

    record = load_key_records([digest_secret(secret)])[0]

    assert record is not None
    assert (record.revoked, record.workspace_locked, record.stores_bodies) == (True, True, True)


def test_a_rule_that_cannot_be_read_lets_nobody_in(caplog: pytest.LogCaptureFixture) -> None:
    key, secret = make_key(make_workspace())
    ApiKey.objects.filter(pk=key.pk).update(allowed_ips=["rubbish", "203.0.113.7/32"])

    record = load_key_records([digest_secret(secret)])[0]
    ApiKey.objects.filter(pk=key.pk).update(denied_ips=["refuse"])
    denying = load_key_records([digest_secret(secret)])[0]

    assert record is not None
    assert record.addresses is not None
    assert record.addresses.allowed == ((ip_network("203.0.113.7/32"),),)
    assert "rubbish" in caplog.text
    assert denying is not None
    assert denying.addresses is not None
    assert not may_call_from(denying.addresses, "203.0.113.7")


def test_unknown_digests_are_none_and_the_rules_of_keys_are_not_read_for_them() -> None:
    unknown = [digest_secret("sk-gw-unknown"), digest_secret("sk-gw-unknown-2")]

    with CaptureQueriesContext(connection) as queries:
        records = load_key_records(unknown)

    assert records == [None, None]
    assert len(queries) == 2
    assert not any("membership" in query["sql"] for query in queries)


def test_a_database_in_trouble_is_an_error_and_not_an_unknown_key(
    transactional_db: None,
) -> None:
    _, secret = make_key(make_workspace())

    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE keys_apikey RENAME TO elsewhere")
    try:
        with pytest.raises(DatabaseError):
            load_key_records([digest_secret(secret)])[0]
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE elsewhere RENAME TO keys_apikey")

    assert load_key_records([digest_secret(secret)])[0] is not None
