"""docs/roles.md is what the product does: every form, every role, one's own things and others'."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import get_commands
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve, reverse
from django.urls.exceptions import Resolver404

from accounts.invitations import invite
from accounts.models import (
    AuditEvent,
    ConfigChange,
    Invitation,
    LedgerEntry,
    Membership,
    Role,
    User,
    Wallet,
    Workspace,
)
from accounts.permissions import RULES, WORDS, Action
from dashboard import roles_page
from dashboard.forms.submit_once import new_form_token
from dashboard.http.page_urls import SLUG
from dashboard.roles_page import COMMANDS, FORMS
from gateway.api.batches import BatchCancelView, BatchListView
from gateway.api.explain import ExplainView
from gateway.api.files import FileView
from gateway.api.language import LanguageCorrectView, LanguageDetectView
from gateway.api.pii import PiiAnalyseView, PiiRedactView, PiiRestoreView
from gateway.api.responses import StoredResponseView
from gateway.models import (
    Batch,
    JournalLoss,
    LanguageModel,
    ListPrice,
    MandatoryProcessor,
    McpServer,
    ProcessorService,
    Provider,
    ProviderCredential,
    ServingProcess,
    StoredFile,
)
from gateway.services.mcp_servers import add_mcp_server
from keys.importing import keep_preview
from keys.limit_rules import add_limit_rule, for_installation, for_workspace
from keys.models import ApiKey, DeveloperKeyPolicy, KeyImport, LimitRule
from tests.dashboard.visitors import key_form, path_of, signed_in
from tests.factories import (
    ACTOR,
    make_batch,
    make_dead_process,
    make_file,
    make_key,
    make_mandatory,
    make_member,
    make_model,
    make_provider,
    make_service,
    make_user,
    make_workspace,
)

pytestmark = pytest.mark.django_db

TABLES: list[Any] = [
    *(Workspace, Membership, Invitation, Wallet, LedgerEntry, AuditEvent, ConfigChange),
    *(ApiKey, DeveloperKeyPolicy, KeyImport, LimitRule, LanguageModel, Provider),
    ListPrice,
    ProviderCredential,
    Batch,
    *(McpServer, MandatoryProcessor, ProcessorService),
    *(ServingProcess, JournalLoss, StoredFile),
]
GOVERNED = {name: form for name, form in FORMS.items() if form is not None}
# Pages that show something and hold a form besides: a link to them promises no right.
SHOWN_TO_ALL = {"dashboard:key-edit", "dashboard:member-budget"}
# Who sees what a form is about, where that is not everybody who sees the keys.
_SEES = {"dashboard:batch-cancel": Action.VIEW_USAGE}
LIMIT: dict[str, Any] = {"metric": "requests", "maximum": 5, "period": "day"}
LINK = re.compile(r'(?:action|hx-post|href|hx-get)="([^"#?]+)')


def rows() -> list[Any]:
    people = list(User.objects.order_by("pk").values("email", "password", "is_operator", "name"))
    return [people, *(list(table.objects.order_by("pk").values()) for table in TABLES)]


def patterns(
    resolver: URLResolver | None = None, namespace: str = ""
) -> Iterator[tuple[str, URLPattern]]:
    """Yield every address with its full name."""
    for each in (resolver or get_resolver()).url_patterns:
        if isinstance(each, URLResolver):
            inner = f"{each.namespace}:" if each.namespace else ""
            yield from patterns(each, namespace + inner)
        else:
            yield f"{namespace}{each.name}", each


def pages() -> Iterator[tuple[str, URLPattern]]:
    """Yield every address of a page, those of a workspace without the workspace."""
    for name, each in patterns():
        if each.name and not is_api(each):
            yield name, each


def is_api(pattern: URLPattern) -> bool:
    return "gateway.api" in pattern.lookup_str or "gateway.api" in str(pattern.callback)


def address(name: str, workspace: Workspace, person: User, *, is_own: bool = False) -> str:
    """Return the form's address, about something of this workspace that is the person's or not."""
    subject = name.removeprefix("dashboard:").partition("-")[0]
    if subject == "credential":
        row = make_provider(
            f"p{uuid.uuid4().hex}", kind="openai", credential="sk"
        ).credentials.get()
        ids = (row.provider_id,) if name.endswith("-create") else (row.provider_id, row.pk)
        return path_of(name.removeprefix("dashboard:"), *ids)
    if name.endswith(
        ("-create", "-invite", "-import", "-preview", "-take", "file-upload", "file-limits")
    ) or subject in (
        "settings",
        "credits",
        "explain",
        "processors",
    ):
        return path_of(name.removeprefix("dashboard:"))
    if name == "dashboard:file-delete":
        return path_of("file-delete", make_file(workspace).public_id)
    if name == "dashboard:key-import-confirm":
        return path_of("key-import-confirm", keep_preview(workspace, [], person=person).pk)
    found: dict[str, Any] = {
        "key": lambda: make_key(workspace).key,
        "member": lambda: workspace.memberships.get(user=_a_viewer(workspace)),
        "mcp": lambda: add_mcp_server(
            workspace, name=f"s{uuid.uuid4().hex[:12]}", url="https://mcp.invalid/mcp", actor=ACTOR
        ),
        "mandatory": lambda: make_mandatory(workspace),
        "service": lambda: make_service(workspace),
        "invitation": lambda: (
            invite(workspace, email="bo@example.com", role=Role.VIEWER, actor=ACTOR).invitation
        ),
        "limit": lambda: add_limit_rule(for_workspace(workspace), actor=ACTOR, **LIMIT),
        "installation": lambda: add_limit_rule(for_installation(), actor=ACTOR, **LIMIT),
        "model": lambda: LanguageModel.objects.first() or make_model(),
        "host": make_dead_process,
        "batch": lambda: make_batch(workspace),
        "provider": lambda: Provider.objects.first() or make_model().targets.get().provider,
    }
    if subject == "tool":
        return path_of(name.removeprefix("dashboard:"), "web_search")
    thing = found[subject]()
    if is_own and subject == "key":
        ApiKey.objects.filter(pk=thing.pk).update(created_by=person)
    elif is_own and subject == "batch":
        ApiKey.objects.filter(pk=thing.key_id).update(created_by=person)
    elif is_own:
        thing = workspace.memberships.get(user=person)
    return path_of(name.removeprefix("dashboard:"), thing.pk)


def _a_viewer(workspace: Workspace) -> User:
    return make_member(workspace, Role.VIEWER)


def everything_filled_in() -> dict[str, Any]:
    """Return what every form would take, and what nobody may set by one."""
    forged = {"id": uuid.uuid4(), "workspace": uuid.uuid4(), "is_operator": "on", "balance": 10**9}
    return key_form(
        token=new_form_token(),
        name="Forged",
        role="viewer",
        email="cy@example.com",
        keys="revoke",
        reason="forged",
        amount="100",
        holder="workspace",
        metric="requests",
        maximum="7",
        period="day",
        stores_bodies="on",
        compat_profile="bud",
        url="https://mcp.invalid/mcp",
        kind="presidio",
        language="en",
        **forged,
    )


def test_every_form_has_its_row() -> None:
    """One that takes a POST and has no row is new: say in dashboard.roles_page what it asks for."""
    operator, taken = make_user(is_operator=True), set()
    workspace = make_workspace()
    for name, pattern in pages():
        arguments = {"membership_id": 1, "pk": 1, SLUG: workspace.slug}
        converters = pattern.pattern.converters
        url = reverse(name, kwargs={key: arguments.get(key, uuid.uuid4()) for key in converters})
        answer = signed_in(operator).post(url)
        if answer.status_code != 405:
            taken.add(name)

    assert taken == set(FORMS)


def test_the_api_writes_nothing_that_a_role_would_govern() -> None:
    """A write of the management API needs its row too."""
    # Scopes of keys govern these: some only read, and their question is a body; with
    # BatchListView and BatchCancelView a key has its own calls made and stops that, with
    # StoredResponseView a key deletes what its own calls said.
    pii = {PiiAnalyseView, PiiRedactView, PiiRestoreView}
    batches = {BatchListView, BatchCancelView}
    reads_only = {ExplainView, LanguageDetectView, LanguageCorrectView} | pii
    governed_by_keys = {None, *reads_only, StoredResponseView, FileView, *batches}
    classes = {getattr(p.callback, "cls", None) for _, p in patterns() if is_api(p)}
    writes = {
        (str(view), method)
        for view in classes - governed_by_keys
        for method in ("post", "put", "patch", "delete")
        if hasattr(view, method)
    }

    assert writes == set()


def test_every_command_has_its_row() -> None:
    ours = {name for name, app in get_commands().items() if app in ("accounts", "gateway", "keys")}

    assert set(COMMANDS) == ours


def test_every_right_has_a_rule_and_words_and_the_page_is_up_to_date() -> None:
    assert set(RULES) == set(WORDS) == set(Action)
    assert roles_page.PAGE.read_text() == roles_page.render(), "run `make fix`"


@pytest.mark.parametrize("is_own", [False, True])
@pytest.mark.parametrize("name", GOVERNED)
def test_a_forged_form_does_what_the_table_says_and_else_nothing(name: str, is_own: bool) -> None:
    form = GOVERNED[name]
    if is_own and form.own is None:
        return  # the same as others' things
    asked = form.own if is_own and form.own else form.action
    for role in Role.values:
        workspace = make_workspace(credit_nusd=10**9)
        make_member(workspace, Role.OWNER)
        person = make_member(workspace, role)
        client, url = signed_in(person), address(name, workspace, person, is_own=is_own)
        before = rows()

        answer = client.post(url, everything_filled_in())

        if role in RULES[asked]:
            assert answer.status_code in (200, 201, 302, 409, 422), (role, answer.status_code)
        else:
            sees = (
                url.startswith(("/keys/new", "/keys/import"))
                or role in RULES[_SEES.get(name, Action.VIEW_KEYS)]
                or is_own
                or not ("/keys/" in url or "/batches/" in url)
            )
            assert answer.status_code == (403 if sees else 404), role
            assert rows() == before, role


@pytest.mark.parametrize("name", GOVERNED)
def test_what_is_of_another_workspace_is_not_there(name: str) -> None:
    here, elsewhere = make_workspace("Here"), make_workspace("Elsewhere")
    owner = make_member(here, Role.OWNER)
    url = address(name, elsewhere, owner)
    installations = (Action.MANAGE_CATALOGUE, Action.MANAGE_HOSTS)
    if not resolve(url).kwargs or GOVERNED[name].action in installations:
        return
    before = rows()

    answer = signed_in(owner).post(url, everything_filled_in())

    assert answer.status_code == 404
    assert rows() == before


@pytest.mark.parametrize("role", Role.values)
def test_no_page_offers_what_the_role_does_not_cover(role: str) -> None:
    workspace = make_workspace(credit_nusd=10**9)
    make_member(workspace, Role.OWNER)
    person = make_member(workspace, role)
    make_key(workspace, label="Theirs")
    own = make_key(workspace, label="Own").key
    ApiKey.objects.filter(pk=own.pk).update(created_by=person)
    add_limit_rule(for_workspace(workspace), actor=ACTOR, **LIMIT)
    make_batch(workspace)
    make_batch(workspace, key=own)
    make_mandatory(workspace)
    make_service(workspace)
    client, offered = signed_in(person), set()

    for name, pattern in pages():
        if not name.startswith("dashboard:") or name == "dashboard:call-export":
            continue
        for url in _addresses(name, pattern, workspace):
            offered |= _offered(client, url)

    beyond = {
        (name, is_own)
        for name, is_own in offered
        if (form := FORMS[name]) and role not in RULES[(is_own and form.own) or form.action]
    }
    assert beyond == set()


def _addresses(name: str, pattern: URLPattern, workspace: Workspace) -> list[str]:
    known: dict[str, Any] = {
        "key_id": workspace.keys,
        "membership_id": workspace.memberships,
        "rule_id": workspace.limit_rules,
        "batch_id": Batch.objects.filter(workspace_id=workspace.pk),
        "server_id": workspace.mcp_servers,
        "mandatory_id": workspace.mandatory_processors,
        "service_id": workspace.processor_services,
    }
    converters = [each for each in pattern.pattern.converters if each != SLUG]
    page = name.removeprefix("dashboard:")
    if not converters:
        return [path_of(page)]
    things = known[converters[0]].all() if converters[0] in known else []
    return [path_of(page, thing.pk) for thing in things]


def _offered(client: Client, url: str) -> set[tuple[str, bool]]:
    """Return the forms that the page has or leads to, with whether they concern one's own."""
    page = client.get(url)
    found = set()
    for link in LINK.findall(page.content.decode()) if page.status_code == 200 else []:
        try:
            match = resolve(link)
        except Resolver404:
            continue
        if match.view_name not in FORMS:
            continue
        is_form = f'action="{link}"' in page.content.decode()
        if match.view_name in SHOWN_TO_ALL and not is_form:
            continue
        found.add((match.view_name, _is_own(client, match.kwargs)))
    return found


def _is_own(client: Client, kwargs: dict[str, Any]) -> bool:
    person = int(client.session["_auth_user_id"])
    if "key_id" in kwargs:
        return ApiKey.objects.get(pk=kwargs["key_id"]).created_by_id == person
    if "batch_id" in kwargs:
        key_id = Batch.objects.get(pk=kwargs["batch_id"]).key_id
        return ApiKey.objects.get(pk=key_id).created_by_id == person
    if "membership_id" in kwargs:
        return Membership.objects.get(pk=kwargs["membership_id"]).user_id == person
    return False


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN])
def test_a_role_above_ones_own_is_neither_given_nor_taken(role: str) -> None:
    workspace = make_workspace()
    make_member(workspace, Role.OWNER)
    person = make_member(workspace, role)
    me = workspace.memberships.get(user=person)
    before = rows()

    answers = {
        signed_in(person).post(path_of("member-role", me.pk), {"role": "owner"}),
        signed_in(person).post(
            path_of("member-invite"), {"email": "cy@example.com", "role": "owner"}
        ),
    }

    statuses = {answer.status_code for answer in answers}
    if role == Role.ADMIN:
        assert statuses == {403}
        assert rows() == before
    else:
        assert statuses == {201, 302}
