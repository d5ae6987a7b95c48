"""The product's settings on a PostgreSQL server, found by the environment of its own programs."""

from __future__ import annotations

from gateway.settings import *  # noqa: F403

DATABASES = {
    "default": {"ENGINE": "django.db.backends.postgresql", "NAME": "postgres", "USER": "postgres"}
}
