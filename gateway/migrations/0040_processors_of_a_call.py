from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('gateway', '0039_versions_of_vllm'),
    ]

    operations = [
        migrations.AddField(
            model_name='callrecord',
            name='processors',
            field=models.JSONField(help_text='What processors did (gateway.core.receipt.ProcessorUse); empty: none ran.', null=True),
        ),
    ]
