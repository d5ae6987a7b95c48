"""The forms of mandatory processors and of services: what they save, show and never show."""

from __future__ import annotations

from typing import Any

import pytest

from accounts.models import AuditEvent, ConfigChange, Role
from gateway.models import MandatoryProcessor, ProcessorService
from gateway.services.credential_encryption import decrypt
from gateway.services.mandatory_processors import require_processor
from tests.dashboard.visitors import HTMX, path_of, signed_in
from tests.factories import (
    ACTOR,
    make_key,
    make_mandatory,
    make_member,
    make_service,
    make_workspace,
)

pytestmark = pytest.mark.django_db
SECRET = "token-0123456789abcdef"
URL = "https://192.0.2.7/presidio"


@pytest.fixture(autouse=True)
def allowed_networks(settings: Any) -> None:
    settings.FETCH_ALLOWED_NETWORKS = ["192.0.2.0/24", "127.0.0.9/32"]


def seen_of(visitor: Any, url: str) -> str:
    return str(visitor.get(url).context["form"]["seen"].value())


def test_a_processor_is_made_mandatory_changed_and_left_to_callers_again() -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    create = f"{path_of('mandatory-create')}?processor=anonymise"
    filled = {"language": "nl", "entities": ["PERSON", "IBAN_CODE"], "score_threshold": "0.6"}

    made = visitor.post(create, filled)
    row = MandatoryProcessor.objects.get()
    again = visitor.post(create, filled)
    edit = path_of("mandatory-edit", row.pk)
    changed = visitor.post(edit, {"language": "nl", "seen": seen_of(visitor, edit)})
    late = visitor.post(edit, {"language": "en", "seen": "of before"})
    page = visitor.get(path_of("processors")).content.decode()

    assert (made.status_code, again.status_code) == (302, 422)
    assert row.options == {"entities": ["PERSON", "IBAN_CODE"], "score_threshold": 0.6}
    assert (changed.status_code, late.status_code) == (302, 409)
    row.refresh_from_db()
    assert (row.options, row.language, row.key) == ({}, "nl", None)
    assert "all keys · language nl" in page
    removed = visitor.post(path_of("mandatory-remove", row.pk))
    assert removed.status_code == 302
    assert not MandatoryProcessor.objects.exists()
    actions = AuditEvent.objects.filter(action__startswith="processor.").order_by("pk")
    assert [one.action for one in actions] == [
        "processor.require",
        "processor.change",
        "processor.release",
    ]
    assert ConfigChange.objects.filter(ref=workspace.pk.hex).count() >= 3


def test_what_a_key_must_go_through_is_on_its_page() -> None:
    workspace = make_workspace()
    key = make_key(workspace).key
    visitor, viewer = (signed_in(make_member(workspace, role)) for role in ("owner", "viewer"))
    make_mandatory(workspace)
    create = f"{path_of('mandatory-create')}?processor=prompt_shield&key={key.pk}"

    made = visitor.post(create, {"threshold": "0.5"})
    page = visitor.get(path_of("key-edit", key.pk)).content.decode()
    seen_by_viewer = viewer.get(path_of("key-edit", key.pk)).content.decode()

    assert made.status_code == 302
    assert made["Location"].endswith(f"/keys/{key.pk}")
    assert MandatoryProcessor.objects.get(key=key).options == {"threshold": 0.5}
    for text in (page, seen_by_viewer):
        assert "threshold 0.5" in text
        assert "all keys" not in text  # its own takes the place of the workspace's
    assert "/processors/mandatory/" in page
    assert "/processors/mandatory/" not in seen_by_viewer
    assert visitor.get(f"{path_of('mandatory-create')}?key={workspace.pk}").status_code == 404


@pytest.mark.parametrize(
    ("processor", "filled", "words"),
    [
        ("anonymise", {}, "Choose the language of the texts."),
        ("anonymise", {"language": "ja"}, "Select a valid choice"),
        ("pii_guard", {"score_threshold": "1.5"}, "less than or equal to 1"),
        ("pii_guard", {"entities": ["SHOE"]}, "Select a valid choice"),
        ("pii_guard", {"service_id": "none"}, "Select a valid choice"),
    ],
)
def test_what_no_call_could_pass_is_said_in_the_form(
    processor: str, filled: dict[str, Any], words: str
) -> None:
    visitor = signed_in(make_member(make_workspace()))

    answer = visitor.post(f"{path_of('mandatory-create')}?processor={processor}", filled)

    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not MandatoryProcessor.objects.exists()


def test_a_service_is_added_and_its_credential_is_shown_nowhere() -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    filled = {"name": "names", "kind": "presidio", "url": URL, "credential": SECRET}

    broken = visitor.post(path_of("service-create"), filled | {"credential": "a\rb: c"})
    made = visitor.post(path_of("service-create"), filled)
    twice = visitor.post(path_of("service-create"), filled)
    row = ProcessorService.objects.get()
    edit = path_of("service-edit", row.pk)
    seen = seen_of(visitor, edit)
    elsewhere = visitor.post(edit, {"url": "https://192.0.2.8/", "seen": seen})
    kept = visitor.post(edit, {"url": f"{URL}/v2", "seen": seen})
    pages = [visitor.get(url).content.decode() for url in (edit, path_of("processors"))]
    events = str(list(AuditEvent.objects.values()))

    assert (broken.status_code, made.status_code, twice.status_code) == (422, 302, 422)
    assert (elsewhere.status_code, kept.status_code) == (422, 302)
    assert "because the host changed" in elsewhere.content.decode()
    row.refresh_from_db()
    assert row.url == f"{URL}/v2"
    assert decrypt(bytes(row.secret or b""), row.pk) == SECRET
    for text in (*pages, events):
        assert "0123456789" not in text
    forget = {"url": row.url, "forget_credential": "on", "seen": seen_of(visitor, edit)}
    visitor.post(edit, forget)
    row.refresh_from_db()
    assert row.secret is None


@pytest.mark.parametrize("url", ["http://[::1", "http://host:99999999/", "https://a:b/"])
def test_what_is_no_url_is_said_of_a_service_whose_credential_is_kept(url: str) -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    row = make_service(workspace, url=URL, credential=SECRET)
    edit = path_of("service-edit", row.pk)

    answer = visitor.post(edit, {"url": url, "seen": seen_of(visitor, edit)})

    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["url"]
    row.refresh_from_db()
    assert row.url == URL


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://127.0.0.1/presidio", "Private addresses"),
        ("https://10.0.0.7/presidio", "Private addresses"),
        ("https://[::1]/presidio", "Private addresses"),
        ("https://[::ffff:127.0.0.1]/presidio", "Private addresses"),
        ("https://localhost/presidio", "Private addresses"),
        ("https://169.254.169.254/presidio", "Private addresses"),
        ("https://1.1.1.1:8080/presidio", "Private addresses"),
        ("https://2130706433/presidio", "The URL is not valid"),
        ("http://1.1.1.1/presidio", "Use https"),
    ],
)
def test_a_url_that_no_call_can_go_to_is_refused_when_it_is_added_or_changed(
    url: str, words: str
) -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    row = make_service(workspace, url=URL)
    edit = path_of("service-edit", row.pk)

    added = visitor.post(
        path_of("service-create"), {"name": "names", "kind": "presidio", "url": url}
    )
    changed = visitor.post(edit, {"url": url, "seen": seen_of(visitor, edit)})

    for answer in (added, changed):
        assert answer.status_code == 422
        assert words in answer.context["form"].errors["url"][0]
        assert words in answer.content.decode()
    row.refresh_from_db()
    assert row.url == URL
    assert ProcessorService.objects.count() == 1


@pytest.mark.parametrize(
    ("networks", "url", "status"),
    [
        ([], "http://pii.internal/presidio", 422),
        (["10.0.0.0/8"], "http://pii.internal/presidio", 302),
        (["10.0.0.0/8"], "http://10.0.0.7:5002/presidio", 302),
        (["127.0.0.0/8"], "http://localhost:5002/presidio", 302),
        ([], "https://pii.internal/presidio", 302),
    ],
)
def test_what_an_operator_allows_is_added(
    settings: Any, networks: list[str], url: str, status: int
) -> None:
    settings.FETCH_ALLOWED_NETWORKS = networks
    visitor = signed_in(make_member(make_workspace()))

    answer = visitor.post(
        path_of("service-create"), {"name": "names", "kind": "presidio", "url": url}
    )

    assert answer.status_code == status
    assert ProcessorService.objects.exists() == (status == 302)


def test_a_service_is_tested_and_removed_unless_it_is_needed() -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))
    row = make_service(workspace, name="names", url="https://127.0.0.9:9")
    options = {"service_id": "names"}
    require_processor(workspace, "pii_guard", options=options, language="en", actor=ACTOR)

    tested = visitor.post(path_of("service-test", row.pk), headers=HTMX)
    needed = visitor.post(path_of("service-remove", row.pk), follow=True)
    MandatoryProcessor.objects.all().delete()
    removed = visitor.post(path_of("service-remove", row.pk))

    assert "The test failed" in tested.content.decode()
    assert "uses this service" in needed.content.decode()
    assert removed.status_code == 302
    assert not ProcessorService.objects.exists()


def test_developers_see_what_is_mandatory_and_change_nothing() -> None:
    workspace = make_workspace()
    row, service = make_mandatory(workspace), make_service(workspace)
    visitor = signed_in(make_member(workspace, Role.DEVELOPER))

    page = visitor.get(path_of("processors")).content.decode()

    assert "prompt_shield" in page
    assert service.name in page
    assert "/processors/mandatory/" not in page
    for url in (path_of("mandatory-edit", row.pk), path_of("service-edit", service.pk)):
        assert visitor.get(url).status_code == 403
