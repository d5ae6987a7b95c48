"""What the settings of an installation ask of requests."""

from __future__ import annotations

from django.conf import settings

from gateway.endpoints.rules import Rules


def request_rules() -> Rules:
    """Return what the installation asks of requests, beside what their types say."""
    return Rules(
        settings.MAX_STOP_SEQUENCES,
        settings.STRICT_TOOL_PAIRING,
        b"" if settings.FORWARD_USER == "plain" else settings.SECRET_KEY.encode(),
        settings.MAX_AUDIO_S,
    )
