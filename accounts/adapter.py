"""What django-allauth asks us about accounts: nobody signs up by themselves, no mail is sent."""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc] # allauth ships no types
    """People are invited by others, and an installation need not have a mail server."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Send nothing: whatever would be mailed is done by an operator's command instead."""
