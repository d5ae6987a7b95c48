from pathlib import PurePath

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def take_over_absolute_paths(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A journal is found below the home, wherever the home is: `journal/<id of the process>`."""
    processes = apps.get_model("gateway", "ServingProcess").objects
    for pk, path in processes.filter(state="alive").values_list("pk", "journal_path"):
        parts = PurePath(path)
        if parts.is_absolute() and parts.parent.name == "journal" and parts.name == str(pk):
            processes.filter(pk=pk).update(journal_path=f"journal/{parts.name}")


class Migration(migrations.Migration):
    dependencies = [("gateway", "0017_sealed_second_factors")]

    operations = [
        migrations.AlterField(
            model_name="servingprocess",
            name="journal_path",
            field=models.CharField(help_text="Relative to the home.", max_length=400),
        ),
        migrations.RunPython(take_over_absolute_paths, migrations.RunPython.noop),
        migrations.CreateModel(
            name="JournalFault",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("damaged", "Damaged"), ("missing", "Missing"), ("unposted", "Unposted"), ("uncharged", "Uncharged")], max_length=10)),
                ("process_id", models.UUIDField()),
                ("call_id", models.CharField(blank=True, max_length=64)),
                ("segment", models.BigIntegerField(null=True)),
                ("start_byte", models.BigIntegerField(null=True)),
                ("end_byte", models.BigIntegerField(null=True)),
                ("records", models.PositiveIntegerField(help_text="How many records; at least, where damaged.")),
                ("reason", models.CharField(max_length=500)),
                ("file", models.CharField(blank=True, help_text="Relative to the home.", max_length=200)),
                ("found_at", models.DateTimeField()),
            ],
            options={"ordering": ["id"]},
        ),
    ]
