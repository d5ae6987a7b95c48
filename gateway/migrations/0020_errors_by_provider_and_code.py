from datetime import UTC, datetime, timedelta

from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils import timezone


def mark_older_calls(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Errors of calls from before are added up in the background, an hour at a time."""
    if not apps.get_model("gateway", "CallRecord").objects.exists():
        return
    hour = timezone.now().astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    since: datetime = hour + timedelta(hours=1)
    apps.get_model("gateway", "ErrorMark").objects.create(since=since)


SUMS: list[tuple[str, "models.Field[Any, Any]"]] = [
    ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
    ("workspace_id", models.UUIDField()),
    ("starts_at", models.DateTimeField()),
    ("provider", models.CharField(blank=True, max_length=60)),
    ("status", models.CharField(max_length=16)),
    ("error_code", models.CharField(blank=True, max_length=60)),
    ("calls", models.BigIntegerField()),
    ("first_at", models.DateTimeField()),
    ("last_at", models.DateTimeField()),
]


class Migration(migrations.Migration):
    dependencies = [("gateway", "0019_calls_not_as_asked")]

    operations = [
        migrations.CreateModel(
            name="ErrorMark",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("since", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="KeyErrors",
            fields=[*SUMS, ("key_id", models.UUIDField())],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=(
                            *("workspace_id", "key_id", "starts_at"),
                            *("provider", "status", "error_code"),
                        ),
                        name="gateway_keyerrors_one_row_per_group",
                    )
                ]
            },
        ),
        migrations.CreateModel(
            name="WorkspaceErrors",
            fields=[*SUMS, ("span_s", models.PositiveIntegerField())],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=(
                            *("workspace_id", "span_s", "starts_at"),
                            *("provider", "status", "error_code"),
                        ),
                        name="gateway_workspaceerrors_one_row_per_group",
                    )
                ]
            },
        ),
        migrations.RunPython(mark_older_calls, migrations.RunPython.noop, elidable=True),
    ]
