"""Fills the installation that TOLLHOUSE_HOME names, so that its pages look lived in.

Run as a program of its own (`python -m tests.dashboard.fill_home`), before the server starts.
"""

from __future__ import annotations

import os
from datetime import timedelta

import django

MEMBER_EMAIL = "noor@example.com"


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gateway.settings")
    django.setup()
    _fill()


def _fill() -> None:
    from django.utils import timezone

    from accounts.models import Membership, Role, User, Workspace
    from accounts.services import create_user, create_workspace
    from gateway.models import LanguageModel
    from keys.services import revoke_key
    from tests.dashboard.demo_data import MODELS, make_demo_data
    from tests.factories import ACTOR, PASSWORD, make_key, make_model

    workspace = Workspace.objects.get()
    operator = User.objects.get()
    for model in MODELS:
        if not LanguageModel.objects.filter(name=model.name).exists():
            make_model(model.name)
    make_demo_data(workspace)
    names = [model.name for model in MODELS]
    office = ["203.0.113.0/24", "2001:db8:40::/48"]
    later = timezone.now() + timedelta(days=12)
    make_key(workspace, label="Invoice reader", allowed_models=names[:2], allowed_ips=office)
    make_key(workspace, label="Trainee, until the fair", allowed_models=names[:1], expires_at=later)
    revoke_key(make_key(workspace, label="First prototype").key, actor=operator.email)
    person = create_user(email=MEMBER_EMAIL, name="Noor Haddad", password=PASSWORD, actor=ACTOR)
    Membership.objects.create(workspace=workspace, user=person, role=Role.DEVELOPER)
    create_workspace(name="Zephyr Robotics", owner=person, actor=ACTOR)


if __name__ == "__main__":
    main()
