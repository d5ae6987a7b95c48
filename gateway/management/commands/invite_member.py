"""invite_member: a link that makes somebody a member of a workspace."""

from __future__ import annotations

from argparse import ArgumentParser

from django.urls import reverse

from accounts.invitations import invite
from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.models import Role
from accounts.selectors import get_workspace
from gateway.launch.prepare import public_origin


class Command(JsonCommand):
    help = (
        "Invite a member to a workspace. The link is shown once, works once and expires in a week."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument("email", help="Email of the new member. No email is sent.")
        parser.add_argument("--role", choices=Role.values, default=Role.DEVELOPER)

    def answer(self, *, workspace: str, email: str, role: str, **options: object) -> Answer:
        found = get_workspace(workspace)
        invitation, code = invite(found, email=email, role=role, actor=ACTOR)
        return {
            "workspace_id": str(found.pk),
            "email": invitation.email,
            "role": invitation.role,
            "link": f"{public_origin()}{reverse('dashboard:join')}#{code}",
            "expires_at": invitation.expires_at.isoformat(),
        }

    def describe(self, answer: Answer) -> str:
        return "Send this link to {email}. It is shown once:\n{link}".format(**answer)
