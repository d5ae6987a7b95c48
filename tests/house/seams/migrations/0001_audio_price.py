from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [("gateway", "0021_prices_of_other_units")]

    operations = [
        migrations.RunSQL(
            "ALTER TABLE gateway_languagemodel ADD COLUMN scratch_audio_pusd bigint NULL",
            "ALTER TABLE gateway_languagemodel DROP COLUMN scratch_audio_pusd",
        )
    ]
