"""set_role: what a member may do."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.models import Role
from accounts.selectors import get_member, get_workspace
from accounts.services import change_role


class Command(JsonCommand):
    help = "Change a member's role in a workspace."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument("email", help="Email of the member.")
        parser.add_argument("role", choices=Role.values)

    def answer(self, *, workspace: str, email: str, role: str, **options: object) -> Answer:
        member = get_member(get_workspace(workspace), email)
        changed = change_role(member, role=role, actor=ACTOR)
        return {
            "changed": changed,
            "workspace_id": str(member.workspace_id),
            "email": member.user.email,
            "role": role,
        }

    def describe(self, answer: Answer) -> str:
        return "{email} is {role} {}.".format("now" if answer["changed"] else "already", **answer)
