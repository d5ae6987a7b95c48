from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("gateway", "0016_proof_progress")]

    operations = [
        migrations.AddField(
            model_name="callrecord",
            name="counted_calls",
            field=models.BigIntegerField(
                db_default=1, help_text="How many refused calls the row stands for; 1 for any other."
            ),
        ),
    ]
