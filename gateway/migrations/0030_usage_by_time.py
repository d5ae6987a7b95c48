from django.db import migrations, models

from accounts.online_indexes import AddIndexOnline


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('gateway', '0029_budgets_of_members_and_workspaces'),
    ]

    operations = [
        AddIndexOnline(
            model_name='usagerollup',
            index=models.Index(fields=['starts_at', 'workspace_id'], name='gateway_usagerollup_by_time'),
        ),
    ]
