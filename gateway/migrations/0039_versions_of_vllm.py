from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('gateway', '0038_price_of_one_hour_cache_writes'),
    ]

    operations = [
        migrations.AddField(
            model_name='provider',
            name='server_version',
            field=models.CharField(blank=True, editable=False, help_text='As it last said; empty: unknown.', max_length=60),
        ),
        migrations.AddField(
            model_name='provider',
            name='version_asked_at',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AlterField(
            model_name='provider',
            name='structured_dialect',
            field=models.CharField(choices=[('auto', 'Automatic, by the version that the server reports'), ('guided', 'guided_json and its siblings (before vLLM 0.12)'), ('structured_outputs', 'structured_outputs (vLLM 0.12 and later)')], default='auto', help_text='For vLLM: the parameters of guided decoding.', max_length=20),
        ),
    ]
