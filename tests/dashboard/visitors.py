"""Browsers without a browser: a client signed in as somebody, and how htmx asks."""

from __future__ import annotations

from typing import Any

from django.test import Client

from accounts.models import User

HTMX: dict[str, Any] = {"HX-Request": "true"}


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def key_form(**fields: Any) -> dict[str, Any]:
    """Return what the form of a key posts, complete; fields change single ones."""
    return {
        "label": "Checkout",
        "models_mode": "all",
        "scopes": ["completions", "usage"],
        "ips_mode": "all",
        "expires": "never",
        "allows_profile_override": "on",
    } | fields
