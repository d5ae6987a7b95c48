import accounts.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_invitations'),
        ('keys', '0005_developer_key_policy'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='apikey',
            name='is_imported',
            field=models.BooleanField(default=False, help_text='Its secret was issued elsewhere; imported by digest: no hint.'),
        ),
        migrations.AlterField(
            model_name='apikey',
            name='prefix',
            field=models.CharField(blank=True, help_text='Cosmetic start of the secret.', max_length=24),
        ),
        migrations.AlterField(
            model_name='apikey',
            name='hint',
            field=models.CharField(blank=True, help_text='Last characters of the secret.', max_length=4),
        ),
        migrations.CreateModel(
            name='KeyImport',
            fields=[
                ('id', models.UUIDField(default=accounts.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('rows', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('confirmed_at', models.DateTimeField(blank=True, null=True)),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('workspace', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='key_imports', to='accounts.workspace')),
            ],
        ),
    ]
