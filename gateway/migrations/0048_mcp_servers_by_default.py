from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('gateway', '0047_price_of_research'),
    ]

    operations = [
        migrations.AddField(
            model_name='mcpserver',
            name='by_default',
            field=models.BooleanField(default=False, help_text='Calls have its tools without naming it.'),
        ),
    ]
