"""Detects that somebody else changed a thing while a form of it was filled in."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from django import forms
from django.core.exceptions import ObjectDoesNotExist
from django.db import transaction
from django.db.models import Model
from django.http import Http404
from django.utils.html import format_html

Row = TypeVar("Row", bound=Model)


def version_token(fields: object) -> str:
    """Return a token that differs when the fields, anything JSON can write, differ."""
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:16]


def changed_meanwhile(form: forms.Form, thing: str, version: str) -> bool:
    """True for a valid form that was filled in for another version of the thing, and it says so,
    with a way to see the thing: a reload would send the form again.

    version: the token of the thing as it is; the form has that of before as `seen`.
    """
    if not form.is_valid() or form.cleaned_data["seen"] == version:
        return False
    words = (
        "Someone else changed this {} in the meantime. Copy your changes, then"
        ' <a href="">reload the page</a>.'
    )
    form.add_error(None, format_html(words, thing))
    return True


def save_unchanged(
    form: forms.Form, thing: str, read_version: Callable[[], str], write: Callable[[], bool]
) -> HTTPStatus:
    """Save a form unless somebody else changed the thing since it was opened: in one transaction,
    so that of two who save at once only the first does.

    read_version: locks the thing, as lock_row does, and returns the token of it as it is. write:
    returns False when the form says why it cannot be saved; it must not wait for other servers.
    Returns FOUND for a form that is saved, CONFLICT, or UNPROCESSABLE_ENTITY.
    """
    if not form.is_valid():
        return HTTPStatus.UNPROCESSABLE_ENTITY
    with transaction.atomic():
        if changed_meanwhile(form, thing, read_version()):
            return HTTPStatus.CONFLICT
        return HTTPStatus.FOUND if write() else HTTPStatus.UNPROCESSABLE_ENTITY


def lock_row(row: Row) -> Row:
    """Keep others from changing the row until the end of the transaction, and read it again.

    SQLite locks no rows and needs not: a transaction has the whole database from its beginning.
    Raises Http404 for a row that was removed.
    """
    rows = type(row)._default_manager.select_for_update(no_key=True)  # others may refer to it
    try:
        row.refresh_from_db(from_queryset=rows)
    except ObjectDoesNotExist:
        raise Http404("This was removed in the meantime.") from None
    return row
