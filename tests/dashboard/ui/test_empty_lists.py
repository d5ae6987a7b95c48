"""What a list shows that has nothing in it yet."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from tests.dashboard.visitors import full_path, path_of, signed_in
from tests.factories import make_user, make_workspace

pytestmark = pytest.mark.django_db

PASSKEYS = "mfa_list_webauthn"


@pytest.mark.parametrize(
    "name",
    [
        *("key-list", "limit-list", "installation-limit-list", "member-list", "file-list"),
        *("mcp-list", "provider-list", "model-list", "credits", PASSKEYS),
    ],
)
def test_an_empty_list_has_its_main_button_once(name: str) -> None:
    workspace = make_workspace("Empty")
    path = reverse(name) if name == PASSKEYS else path_of(name)

    answer = signed_in(make_user(is_operator=True)).get(full_path(workspace, path))
    page = answer.content.decode()

    assert 'class="empty"' in page
    assert len(re.findall(r'<a class="button button-primary" href="[^"]+"', page)) == 1
