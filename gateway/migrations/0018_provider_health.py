import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('gateway', '0015_counted_refusals'),
    ]

    operations = [
        migrations.CreateModel(
            name='ProviderHealth',
            fields=[
                ('provider', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='health', serialize=False, to='gateway.provider')),
                ('answered_at', models.DateTimeField(null=True)),
                ('failing_since', models.DateTimeField(null=True)),
                ('failure', models.CharField(blank=True, max_length=60)),
                ('tested_at', models.DateTimeField(null=True)),
                ('test_outcome', models.CharField(blank=True, max_length=60)),
                ('test_message', models.CharField(blank=True, max_length=400)),
            ],
        ),
    ]
