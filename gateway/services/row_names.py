"""Names of rows that are in addresses and commands: letters, digits, - and _, each used once."""

from __future__ import annotations

import re

from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet

_NAME = re.compile(r"[A-Za-z0-9_-]+")


def check_name(name: str, others: QuerySet[Model]) -> None:
    """Raise ValidationError for `name` unless it is such a name, and of none of the others.

    An empty one is left to the model.
    """
    if name and not _NAME.fullmatch(name):
        raise ValidationError({"name": "Use letters, digits, - and _."})
    if others.filter(name=name).exists():
        raise ValidationError({"name": f"{name} already exists."})
