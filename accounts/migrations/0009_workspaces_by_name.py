from django.db import migrations, models

from accounts.online_indexes import AddIndexOnline


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('accounts', '0008_budgets'),
    ]

    operations = [
        AddIndexOnline(
            model_name='workspace',
            index=models.Index(fields=['name', 'id'], name='accounts_workspace_by_name'),
        ),
    ]
