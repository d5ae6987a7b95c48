"""What a new installation holds: a workspace with credit, an operator, a model, a key.

Each part is made only where there is nothing of its kind, so that a second start changes
nothing and an installation that people have shaped stays as they shaped it.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path

from django.db import transaction

from accounts.models import Role, User, Workspace
from accounts.services import add_member, create_user, create_workspace
from gateway.core.money import NUSD_PER_USD, read_usd_per_mtok
from gateway.launch.quickstart import Quickstart, read_quickstart, write_quickstart
from gateway.models import LanguageModel, Provider
from gateway.providers.catalogue import SIMULATED
from gateway.services.models import add_model
from gateway.services.providers import add_provider
from keys.models import ApiKey, Scope
from keys.services import digest_secret, issue_key

ACTOR = "first start"
WORKSPACE = "Demo"
CREDIT_NUSD = 10 * NUSD_PER_USD
EMAIL = "operator@localhost"
SIMULATED_PROVIDER = "simulated"
SIMULATED_MODEL = "tollhouse/simulated"
PASSWORD_BYTES = 15
# All that clients use, so that every example of the documentation works with the first key.
FIRST_SCOPES = (Scope.COMPLETIONS, Scope.USAGE, Scope.FILES, Scope.PII, Scope.LANGUAGE)


def seed(home: Path, *, base_url: str) -> Quickstart:
    """Make what is missing and return how to use it; quickstart.json is written last.

    The secret of the key and the password exist in that file alone. When it is lost, a new key
    is issued; a new password only if nobody has ever signed in with the old one.
    """
    known = read_quickstart(home)
    with transaction.atomic():
        operator, password = _find_or_make_operator(known)
        workspace = _find_or_make_workspace(operator)
        _make_simulated_model()
        quickstart = Quickstart(
            base_url=base_url,
            api_key=_find_or_issue_key(known, workspace, operator),
            model=known.model if known else SIMULATED_MODEL,
            email=operator.email,
            password=password,
        )
    if quickstart != known:
        write_quickstart(home, quickstart)
    return quickstart


def name_served_model(home: Path, quickstart: Quickstart, *, prefer: str = "") -> Quickstart:
    """Let quickstart.json name a model that is served: the preferred, the same, or the first."""
    served = LanguageModel.objects.filter(enabled=True, targets__provider__enabled=True)
    names = list(served.order_by("created_at").values_list("name", flat=True))
    wanted = [name for name in (prefer, quickstart.model, *names) if name in names]
    preferred = replace(quickstart, model=wanted[0] if wanted else quickstart.model)
    if preferred != quickstart:
        write_quickstart(home, preferred)
    return preferred


def is_key_usable(quickstart: Quickstart) -> bool:
    """True while the key that quickstart.json holds may be admitted."""
    return ApiKey.objects.usable().filter(digest=digest_secret(quickstart.api_key)).exists()


def _find_or_make_operator(known: Quickstart | None) -> tuple[User, str]:
    operators = User.objects.filter(is_operator=True).order_by("pk")
    operator = (known and operators.filter(email=known.email).first()) or operators.first()
    if operator is None:
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        return create_user(email=EMAIL, password=password, is_operator=True, actor=ACTOR), password
    if known and known.email == operator.email and operator.check_password(known.password):
        return operator, known.password
    if known is None and operator.last_login is None:
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        operator.set_password(password)
        operator.save(update_fields=["password"])
        return operator, password
    return operator, ""


def _find_or_make_workspace(operator: User) -> Workspace:
    workspace = Workspace.objects.order_by("created_at").first()
    if workspace is None:
        workspace = create_workspace(
            name=WORKSPACE, credit_nusd=CREDIT_NUSD, owner=operator, actor=ACTOR
        )
    elif not workspace.memberships.exists():
        add_member(workspace, user=operator, role=Role.OWNER, actor=ACTOR)
    return workspace


def _make_simulated_model() -> None:
    if Provider.objects.exists():
        return
    provider = add_provider(name=SIMULATED_PROVIDER, kind=SIMULATED, actor=ACTOR)
    add_model(
        name=SIMULATED_MODEL,
        display_name="Simulated model",
        description="Built in. Answers at once, always the same, without a provider.",
        owned_by="tollhouse",
        provider=provider,
        native_model="simulated",
        input_pusd=read_usd_per_mtok("0.10"),
        cached_input_pusd=read_usd_per_mtok("0.05"),
        output_pusd=read_usd_per_mtok("0.40"),
        context_tokens=128_000,
        max_output_tokens=4_096,
        actor=ACTOR,
    )


def _find_or_issue_key(known: Quickstart | None, workspace: Workspace, operator: User) -> str:
    """Return the secret that the file holds, if this database knows it, revoked or not."""
    if known and ApiKey.objects.filter(digest=digest_secret(known.api_key)).exists():
        return known.api_key
    issued = issue_key(
        workspace=workspace,
        label="First key",
        created_by=operator,
        scopes=FIRST_SCOPES,
        actor=ACTOR,
    )
    return issued.secret
