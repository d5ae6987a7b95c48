"""reset_password: set a new password for a user who cannot sign in."""

from __future__ import annotations

import secrets
from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.models import User
from accounts.services import set_password


class Command(JsonCommand):
    help = "Reset a user's password and sign them out everywhere."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("email")
        parser.add_argument(
            "--forget-factors",
            action="store_true",
            help="Also remove their authenticator app, recovery codes and passkeys.",
        )

    def answer(self, *, email: str, forget_factors: bool, **options: object) -> Answer:
        user = User.objects.filter(email=email.lower()).first()
        if user is None:
            raise LookupError(f"No account has the email {email[:254]}.")
        password = secrets.token_urlsafe(12)
        set_password(user, password=password, actor=ACTOR, forget_factors=forget_factors)
        return {"email": user.email, "password": password}

    def describe(self, answer: Answer) -> str:
        return "The new password of {email} is {password}".format(**answer)
