from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("keys", "0006_imported_keys"),
    ]

    operations = [
        migrations.RenameField("apikey", "forgiven_nusd", "total_baseline_nusd"),
        migrations.AlterField(
            "apikey",
            "total_baseline_nusd",
            models.BigIntegerField(
                default=0, help_text="What it had spent when its total was last reset."
            ),
        ),
    ]
