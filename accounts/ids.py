"""Identifiers of rows: UUIDv7, so that primary keys sort by the time they were made."""

import uuid

import uuid_utils
from django.db import connection


def new_id() -> uuid.UUID:
    """Return a fresh UUIDv7 (RFC 9562) as the standard library's type."""
    return uuid.UUID(int=uuid_utils.uuid7().int)


def stored_id(value: uuid.UUID) -> uuid.UUID | str:
    """Return an id as the database in use keeps it, for statements of our own."""
    return value if connection.features.has_native_uuid_field else value.hex
