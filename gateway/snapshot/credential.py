"""A credential of a provider, as the hot path sees it."""

from __future__ import annotations

from dataclasses import dataclass, field

from gateway.core.provider_connection import ConnectionSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialRecord:
    """One of a provider's. What is secret stays out of repr."""

    credential_id: str
    name: str
    # As ProviderKind.credential: what tokens are made of it, if any.
    kind: str = "key"
    secret: str = field(default="", repr=False)
    # Of the calls, in proportion to the others.
    weight: int = 1
    # None: as many as there are.
    per_minute: int | None = None
    at_once: int | None = None
    # Where AWS is asked for the keys of a role.
    region: str = ""
    # By what the makers of tokens are reached; None for the environment's proxy, if any.
    proxy: ConnectionSettings | None = None
