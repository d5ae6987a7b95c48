"""Rows that the tests of a module share: made once, since they take longer than a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction
from pytest_django import DjangoDbBlocker


@contextmanager
def rows_of_a_module(blocker: DjangoDbBlocker) -> Iterator[None]:
    """Make rows in this block, then let the tests run. Each of them takes its own changes back as
    ever; when the module has ended, the rows go too."""
    with blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)
