from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("gateway", "0048_mcp_servers_by_default")]

    operations = [
        migrations.AddIndex(
            model_name="callrecord",
            index=models.Index(
                condition=models.Q(("status", "ok"), _negated=True),
                fields=["workspace_id", "model", "id"],
                name="gateway_call_model_not_ok",
            ),
        ),
    ]
