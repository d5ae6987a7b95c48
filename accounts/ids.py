"""Identifiers of rows: UUIDv7, so that primary keys sort by the time they were made."""

import uuid

import uuid_utils


def new_id() -> uuid.UUID:
    """Return a fresh UUIDv7 (RFC 9562) as the standard library's type."""
    return uuid.UUID(int=uuid_utils.uuid7().int)
