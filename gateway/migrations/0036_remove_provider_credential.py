from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('gateway', '0035_provider_credentials'),
    ]

    operations = [
        migrations.RemoveField(model_name='provider', name='credential'),
    ]
