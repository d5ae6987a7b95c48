from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('gateway', '0037_price_of_searches'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='languagemodel',
            name='gateway_languagemodel_unit_prices_not_negative',
        ),
        migrations.AddField(
            model_name='languagemodel',
            name='cache_write_1h_pusd_per_token',
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddConstraint(
            model_name='languagemodel',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('cache_write_pusd_per_token__gte', 0), ('cache_write_pusd_per_token__isnull', True), _connector='OR'), models.Q(('cache_write_1h_pusd_per_token__gte', 0), ('cache_write_1h_pusd_per_token__isnull', True), _connector='OR'), models.Q(('image_pusd__gte', 0), ('image_pusd__isnull', True), _connector='OR'), models.Q(('second_pusd_per_ms__gte', 0), ('second_pusd_per_ms__isnull', True), _connector='OR'), models.Q(('character_pusd__gte', 0), ('character_pusd__isnull', True), _connector='OR'), models.Q(('search_pusd__gte', 0), ('search_pusd__isnull', True), _connector='OR')), name='gateway_languagemodel_unit_prices_not_negative'),
        ),
    ]
