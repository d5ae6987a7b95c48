"""What programs or people would notice is asked first, and says what will happen."""

from __future__ import annotations

import pytest

from accounts.models import Role, Workspace
from accounts.services import set_stores_bodies
from gateway.models import LanguageModel, Provider
from tests.dashboard.visitors import HTMX, path_of, signed_in
from tests.factories import ACTOR, make_key, make_member, make_model, make_user, make_workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace("Acme Rockets")


@pytest.mark.parametrize(
    ("typed", "is_locked"),
    [
        ("Acme Rockets", True),
        ("  Acme Rockets ", True),
        ("acme rockets", False),
        ("Acme", False),
        ("", False),
    ],
)
def test_a_workspace_is_locked_by_who_types_its_name(
    workspace: Workspace, typed: str, is_locked: bool
) -> None:
    make_key(workspace)
    owner, url = signed_in(make_member(workspace, Role.OWNER)), path_of("settings-lock")

    question = owner.get(url).content.decode()
    answer = owner.post(url, {"reason": "Invoice overdue", "typed_name": typed})

    workspace.refresh_from_db()
    assert "Only an operator can unlock it" in question
    assert "type Acme Rockets" in question
    assert (workspace.locked_at is not None) == is_locked
    assert answer.status_code == (302 if is_locked else 422)
    if not is_locked:
        assert 'value="Invoice overdue"' in answer.content.decode()


def test_the_settings_lead_to_the_questions_and_have_no_button_that_acts_at_once(
    workspace: Workspace,
) -> None:
    page = signed_in(make_member(workspace, Role.OWNER)).get("/settings").content.decode()

    for name in ("settings-lock", "settings-bodies"):
        url = f"/w/{workspace.slug}{path_of(name)}"
        assert f'href="{url}" hx-get="{url}"' in page
        assert f'action="{url}"' not in page


def test_keeping_bodies_is_asked_and_so_is_stopping(workspace: Workspace) -> None:
    owner, url = signed_in(make_member(workspace, Role.OWNER)), path_of("settings-bodies")

    keep = owner.get(url, headers=HTMX).content.decode()
    set_stores_bodies(workspace, stores_bodies=True, actor=ACTOR)
    stop = owner.get(url, headers=HTMX).content.decode()
    owner.post(url, {})

    workspace.refresh_from_db()
    assert "personal data" in keep
    assert 'name="stores_bodies" value="on"' in keep
    assert "no longer stored" in stop
    assert 'name="stores_bodies"' not in stop
    assert not workspace.stores_bodies


def test_switching_a_provider_off_names_the_models_that_only_it_serves() -> None:
    alone, shared = make_model("alone"), make_model("shared")
    provider = alone.targets.get().provider
    shared.targets.create(provider=provider, native_model="x", position=1)
    operator, url = signed_in(make_user(is_operator=True)), path_of("provider-switch", provider.pk)

    question = operator.get(url, headers=HTMX).content.decode()

    assert "No other provider serves alone." in question
    assert "shared" not in question
    assert Provider.objects.get(pk=provider.pk).enabled


def test_looking_at_the_question_switches_nothing_and_the_answer_does() -> None:
    model = make_model()
    operator, url = signed_in(make_user(is_operator=True)), path_of("model-switch", model.pk)

    asked = operator.get(url)
    is_still_on = LanguageModel.objects.get().enabled
    operator.post(url, {})
    off = operator.get(url)

    assert "404 within a second" in asked.content.decode()
    assert is_still_on
    assert not LanguageModel.objects.get().enabled
    assert off.status_code == 302
