"""What operators do while a gateway runs, as a program: one JSON order a line, one answer a line.

    python -m tests.flows.orders        with TOLLHOUSE_HOME naming the gateway's home

The services are called as the pages call them; only the process is spared a start per order.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any
from uuid import UUID

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.db.models import Sum  # noqa: E402
from django.utils import timezone  # noqa: E402

from accounts import budgets, ledger  # noqa: E402
from accounts import services as accounts  # noqa: E402
from accounts.models import ConfigChange, Membership, User, Wallet, Workspace  # noqa: E402
from gateway.management import credential_options  # noqa: E402
from gateway.models import (  # noqa: E402
    CallBody,
    CallRecord,
    LanguageModel,
    Provider,
    ProviderCredential,
    ServingProcess,
)
from gateway.selectors.budget_lines import owner_of, timezone_of  # noqa: E402
from gateway.selectors.spending import spent_by, total_of  # noqa: E402
from gateway.services import (  # noqa: E402
    models,
    provider_connections,
    provider_credentials,
    providers,
)
from gateway.services.proving import prove  # noqa: E402
from gateway.stores.reaping import Reaper  # noqa: E402
from keys import memberships, raises  # noqa: E402
from keys import services as keys  # noqa: E402
from keys.access import set_access_rules  # noqa: E402
from keys.models import ApiKey  # noqa: E402
from keys.rotation import rotate_key  # noqa: E402
from keys.rules import KeyRules  # noqa: E402
from tests.flows import file_orders  # noqa: E402

ACTOR = "operator"
FIELDS = [field.name for field in CallRecord._meta.fields]


def workspace(*, name: str, credit_nusd: int) -> str:
    made = accounts.create_workspace(name=name, credit_nusd=credit_nusd, actor=ACTOR)
    return str(made.pk)


def person(*, workspace_id: str, email: str, password: str, role: str) -> None:
    """Make somebody who can sign in, and a member."""
    found = Workspace.objects.get(pk=workspace_id)
    made = accounts.create_user(email=email, password=password, actor=ACTOR)
    accounts.add_member(found, user=made, role=role, actor=ACTOR)


def set_role(*, workspace_id: str, email: str, role: str) -> bool:
    found = Membership.objects.get(workspace__pk=workspace_id, user__email=email)
    return accounts.change_role(found, role=role, actor=ACTOR)


def end_membership(*, workspace_id: str, email: str, keeps_keys: bool) -> int:
    found = Membership.objects.get(workspace__pk=workspace_id, user__email=email)
    return memberships.end_membership(found, keeps_keys=keeps_keys, actor=ACTOR)


def key(*, workspace_id: str, owner: str = "", **rules: Any) -> dict[str, str]:
    """owner: the email of the member whose key it is, if it is one's."""
    found = Workspace.objects.get(pk=workspace_id)
    person = User.objects.get(email=owner) if owner else None
    made = keys.issue_key(workspace=found, label="A key", actor=ACTOR, created_by=person, **rules)
    return {"key_id": str(made.key.pk), "secret": made.secret}


def expire(*, key_id: str) -> None:
    """Let a key's life be over, as time does: nothing is announced."""
    found = ApiKey.objects.get(pk=key_id)
    ApiKey.objects.filter(pk=key_id).update(expires_at=found.created_at)


def edit_key(*, key_id: str, **rules: Any) -> bool:
    found = ApiKey.objects.get(pk=key_id)
    current = {name: getattr(found, name) for name in KeyRules.__annotations__}
    return keys.update_key(found, actor=ACTOR, **(current | rules))


def access_rules(*, workspace_id: str, **rules: Any) -> bool:
    """Replace all access rules of a workspace."""
    found = Workspace.objects.get(pk=workspace_id)
    return set_access_rules(found, actor=ACTOR, **rules)


def command(*, name: str, arguments: list[str]) -> Any:
    """Run a command, and return what it says with --json."""
    out = StringIO()
    call_command(name, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def compatibility(*, key_id: str, **wishes: Any) -> bool:
    return keys.set_compatibility(ApiKey.objects.get(pk=key_id), actor=ACTOR, **wishes)


def limit_key(*, key_id: str, **limits: int | None) -> bool:
    """Replace all limits of a key."""
    return keys.set_limits(ApiKey.objects.get(pk=key_id), limits=limits, actor=ACTOR)


def budget(*, level: str, key_id: str, **limits: int | None) -> bool:
    """Replace all budgets of a key, or of the member or the workspace whose it is."""
    holder = holder_of(level, key_id)
    if isinstance(holder, ApiKey):
        return keys.set_limits(holder, limits=limits, actor=ACTOR)
    return budgets.set_spending_limits(holder, limits=limits, actor=ACTOR)


def holder_of(level: str, key_id: str) -> raises.Holder:
    """Return a key, or the member or the workspace whose it is."""
    key = ApiKey.objects.select_related("workspace").get(pk=key_id)
    if level == "key":
        return key
    if level == "workspace":
        return key.workspace
    return Membership.objects.get(workspace=key.workspace, user=key.created_by)


def raise_budget(*, level: str, key_id: str, amount_nusd: int, for_s: float) -> str:
    """Raise the daily budget of a key, its member or its workspace; return until when."""
    until = timezone.now() + timedelta(seconds=for_s)
    holder = holder_of(level, key_id)
    raises.raise_budget(holder, period="day", amount_nusd=amount_nusd, until=until, actor=ACTOR)
    return str(until)


def set_timezone(*, workspace_id: str, timezone: str) -> bool:
    found = Workspace.objects.get(pk=workspace_id)
    return budgets.set_timezone(found, timezone=timezone, actor=ACTOR)


def limit_workspace(*, workspace_id: str, **limits: int | None) -> bool:
    found = Workspace.objects.get(pk=workspace_id)
    return accounts.set_call_limits(found, actor=ACTOR, **limits)


def reset_total(*, key_id: str) -> bool:
    found = ApiKey.objects.get(pk=key_id)
    return keys.reset_total(found, spent_nusd=total_of(found.pk), actor=ACTOR)


def spent(*, key_id: str) -> list[int]:
    """Return what a key has spent today, this week, this month and ever."""
    key = ApiKey.objects.select_related("workspace").get(pk=key_id)
    return list(spent_by(owner_of(key), time.time(), timezone=timezone_of(key)))


def revoke(*, key_id: str) -> bool:
    return keys.revoke_key(ApiKey.objects.get(pk=key_id), actor=ACTOR)


def rotate(*, key_id: str, overlap_s: float) -> str:
    """Return the new secret of a key."""
    overlap = timedelta(seconds=overlap_s)
    return rotate_key(ApiKey.objects.get(pk=key_id), overlap=overlap, actor=ACTOR).secret


def lock(*, workspace_id: str) -> bool:
    found = Workspace.objects.get(pk=workspace_id)
    return accounts.lock_workspace(found, reason="A test.", actor=ACTOR)


def unlock(*, workspace_id: str) -> bool:
    return accounts.unlock_workspace(Workspace.objects.get(pk=workspace_id), actor=ACTOR)


def rename(*, workspace_id: str, name: str) -> bool:
    found = Workspace.objects.get(pk=workspace_id)
    return accounts.rename_workspace(found, name=name, actor=ACTOR)


def store_bodies(*, workspace_id: str) -> bool:
    found = Workspace.objects.get(pk=workspace_id)
    return accounts.set_stores_bodies(found, stores_bodies=True, actor=ACTOR)


def body(*, call_id: str) -> dict[str, str] | None:
    """Return what is stored of a call's words, if anything is."""
    found = CallBody.objects.filter(call_id=call_id).first()
    return None if found is None else {"request": found.request, "response": found.response}


def grant(*, workspace_id: str, amount_nusd: int) -> int:
    found = Workspace.objects.get(pk=workspace_id)
    return ledger.grant(found, amount_nusd=amount_nusd, actor=ACTOR, reason="A test.").balance_nusd


def provider(*, name: str, **fields: Any) -> str:
    fields = {"kind": "openai_compatible"} | fields
    return providers.add_provider(name=name, actor=ACTOR, **fields).name


def connect_provider(*, name: str, transport: str) -> str:
    """Choose the transport of a provider. Returns what its calls go by."""
    found = Provider.objects.get(name=name)
    provider_connections.set_connection(found, transport=transport, actor=ACTOR)
    return provider_connections.used_transport(found)


def switch_provider(*, name: str, enabled: bool) -> bool:
    found = Provider.objects.get(name=name)
    return providers.set_provider_enabled(found, enabled=enabled, actor=ACTOR)


def add_credential(*, provider: str, credential: str, **fields: Any) -> str:
    found = Provider.objects.get(name=provider)
    return provider_credentials.add_credential(
        found, credential=credential, actor=ACTOR, **fields
    ).name


def set_credential(*, provider: str, name: str, **fields: Any) -> bool:
    row = ProviderCredential.objects.get(provider__name=provider, name=name)
    return provider_credentials.update_credential(row, actor=ACTOR, **fields)


def remove_credential(*, provider: str, name: str) -> None:
    row = ProviderCredential.objects.get(provider__name=provider, name=name)
    provider_credentials.remove_credential(row, actor=ACTOR)


def credential_states(*, provider: str) -> dict[str, dict[str, Any]]:
    """Return what operators are shown of each credential."""
    rows = ProviderCredential.objects.filter(provider__name=provider)
    return {row.name: credential_options.write_credential(row) for row in rows}


def model(*, name: str, provider: str, **fields: Any) -> str:
    """Add a model of 1 USD in and 2 USD out per million tokens, where fields do not differ."""
    defaults = {"input_pusd": 10**6, "output_pusd": 2 * 10**6, "max_output_tokens": 16_384}
    defaults["may_be_free"] = True
    found = Provider.objects.get(name=provider)
    return models.add_model(name=name, provider=found, actor=ACTOR, **(defaults | fields)).name


def target(*, model: str, provider: str) -> None:
    found = Provider.objects.get(name=provider)
    known = LanguageModel.objects.get(name=model)
    models.add_target(known, provider=found, native_model="second", actor=ACTOR)


def describe_provider(*, name: str, **fields: Any) -> bool:
    return providers.update_provider(Provider.objects.get(name=name), actor=ACTOR, **fields)


def describe_model(*, name: str, **fields: Any) -> bool:
    return models.update_model(LanguageModel.objects.get(name=name), actor=ACTOR, **fields)


def set_prices(*, model: str, input_pusd: int, output_pusd: int) -> bool:
    found = LanguageModel.objects.get(name=model)
    return models.set_prices(
        found,
        input_pusd=input_pusd,
        output_pusd=output_pusd,
        actor=ACTOR,
        may_be_free=True,
        may_jump=True,
    )


def offer(*, model: str, enabled: bool) -> bool:
    found = LanguageModel.objects.get(name=model)
    return models.set_model_enabled(found, enabled=enabled, actor=ACTOR)


def record(*, call_id: str) -> dict[str, Any] | None:
    found = CallRecord.objects.filter(pk=call_id).first()
    return None if found is None else written(found)


def records(*, key_id: str) -> list[dict[str, Any]]:
    return [written(found) for found in CallRecord.objects.filter(key_id=key_id)]


def written(found: CallRecord) -> dict[str, Any]:
    return {name: getattr(found, name) for name in FIELDS}


def balance_nusd(*, workspace_id: str) -> int:
    return Wallet.objects.get(pk=UUID(workspace_id)).posted_nusd


def call_back() -> None:
    """Ask for all idle money, as a process does that needs it: else it comes back in 5 to 10 s."""
    for wallet in Wallet.objects.filter(drawn_nusd__gt=0):
        ConfigChange.objects.create(kind=ConfigChange.Kind.RECALL, ref=wallet.pk.hex)


def drawn_nusd() -> int:
    """Return what all purses hold: 0 once no call holds anything and idle money is back."""
    return Wallet.objects.aggregate(drawn=Sum("drawn_nusd"))["drawn"] or 0


def end_silent() -> list[str]:
    """End the processes whose lease is over as a reaper does that has watched them for long; return
    their IDs."""
    reaper = Reaper(watch_present_s=0, watch_absent_s=0)
    return [str(ended.process_id) for ended in reaper.run()]


def forget_leases() -> int:
    """Let every lease be over, as time does while a process stands still."""
    over = timezone.now() - timedelta(seconds=1)
    return ServingProcess.objects.filter(state="alive").update(lease_until=over)


def breaks(*, upstream_usage: list[dict[str, Any]] | None = None) -> list[str]:
    return prove(upstream_usage=upstream_usage).breaks


ORDERS: dict[str, Callable[..., Any]] = {
    order.__name__: order
    for order in (
        *(workspace, key, expire, edit_key, revoke, lock, unlock, grant, provider, model, target),
        *(
            person,
            rename,
            store_bodies,
            body,
            set_prices,
            offer,
            switch_provider,
            connect_provider,
            add_credential,
            set_credential,
            remove_credential,
            credential_states,
            describe_provider,
            describe_model,
            access_rules,
            command,
            set_role,
            end_membership,
            rotate,
            compatibility,
            limit_key,
            limit_workspace,
            budget,
            raise_budget,
            set_timezone,
            reset_total,
            spent,
            record,
            records,
            balance_nusd,
            call_back,
            drawn_nusd,
            end_silent,
            forget_leases,
            breaks,
        ),
    )
} | file_orders.ORDERS


def main() -> None:
    for line in sys.stdin:
        wish = json.loads(line)
        try:
            answer = {"value": ORDERS[wish.pop("do")](**wish)}
        except Exception as error:
            answer = {"error": repr(error)}
            connection.close()  # the database may have been restarted
        sys.stdout.write(json.dumps(answer, default=str) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
