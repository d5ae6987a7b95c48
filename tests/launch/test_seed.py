"""A new installation holds what a first call needs; one that people shaped stays as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.auth.models import update_last_login

from accounts.models import User, Wallet, Workspace
from gateway.launch.quickstart import path_in, read_quickstart
from gateway.launch.seed import is_key_usable, name_served_model, seed
from gateway.models import LanguageModel, Provider
from keys.models import ApiKey
from keys.services import revoke_key

pytestmark = pytest.mark.django_db
URL = "http://127.0.0.1:8000/v1"


def test_a_first_start_makes_everything_a_call_needs(tmp_path: Path) -> None:
    quickstart = seed(tmp_path, base_url=URL)

    operator = User.objects.get()
    assert operator.is_operator
    assert operator.check_password(quickstart.password)
    assert Wallet.objects.get().posted_nusd == 10_000_000_000
    assert LanguageModel.objects.get().name == quickstart.model
    assert is_key_usable(quickstart)
    assert read_quickstart(tmp_path) == quickstart


def test_a_second_start_changes_nothing(tmp_path: Path) -> None:
    first = seed(tmp_path, base_url=URL)

    second = seed(tmp_path, base_url=URL)

    assert second == first
    assert [m.objects.count() for m in (User, Workspace, Provider, ApiKey)] == [1, 1, 1, 1]


def test_another_port_changes_the_address_alone(tmp_path: Path) -> None:
    first = seed(tmp_path, base_url=URL)

    second = seed(tmp_path, base_url="http://127.0.0.1:9000/v1")

    assert second == replace(first, base_url="http://127.0.0.1:9000/v1")


def test_a_lost_file_brings_a_new_key_and_a_new_password(tmp_path: Path) -> None:
    first = seed(tmp_path, base_url=URL)
    path_in(tmp_path).unlink()

    second = seed(tmp_path, base_url=URL)

    assert second.api_key != first.api_key
    assert is_key_usable(second)
    assert User.objects.get().check_password(second.password)


def test_a_file_from_another_database_brings_a_new_key(tmp_path: Path) -> None:
    first = seed(tmp_path, base_url=URL)
    ApiKey.objects.all().delete()

    second = seed(tmp_path, base_url=URL)

    assert second.api_key != first.api_key
    assert is_key_usable(second)


def test_a_lost_file_leaves_the_password_of_somebody_who_signed_in(tmp_path: Path) -> None:
    first = seed(tmp_path, base_url=URL)
    update_last_login(User, User.objects.get())
    path_in(tmp_path).unlink()

    second = seed(tmp_path, base_url=URL)

    assert second.password == ""
    assert User.objects.get().check_password(first.password)


def test_a_password_that_was_changed_is_not_shown_any_more(tmp_path: Path) -> None:
    seed(tmp_path, base_url=URL)
    operator = User.objects.get()
    operator.set_password("a better one of my own")
    operator.save()

    assert seed(tmp_path, base_url=URL).password == ""


def test_a_revoked_key_is_not_replaced_in_silence(tmp_path: Path) -> None:
    quickstart = seed(tmp_path, base_url=URL)
    revoke_key(ApiKey.objects.get(), actor="test")

    again = seed(tmp_path, base_url=URL)

    assert again.api_key == quickstart.api_key
    assert not is_key_usable(again)


def test_a_model_that_is_not_served_is_not_named(tmp_path: Path) -> None:
    quickstart = seed(tmp_path, base_url=URL)

    same = name_served_model(tmp_path, replace(quickstart, model="gone"))

    assert same.model == quickstart.model
