from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("gateway", "0018_provider_health")]

    operations = [
        migrations.AddIndex(
            model_name="callrecord",
            index=models.Index(
                condition=models.Q(("requested_model", models.F("model")), _negated=True),
                fields=["workspace_id", "requested_model", "id"],
                name="gateway_call_not_as_asked",
            ),
        ),
    ]
