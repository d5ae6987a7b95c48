import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_invitations'),
    ]

    operations = [
        migrations.CreateModel(
            name='LedgerMark',
            fields=[
                ('wallet', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='mark', serialize=False, to='accounts.wallet')),
                ('sequence', models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='LedgerDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('key_id', models.UUIDField()),
                ('entries', models.BigIntegerField()),
                ('calls', models.BigIntegerField()),
                ('amount_nusd', models.BigIntegerField(help_text='Signed: usage is negative.')),
                ('balance_nusd', models.BigIntegerField()),
                ('first_sequence', models.BigIntegerField()),
                ('last_sequence', models.BigIntegerField()),
                ('wallet', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='days', to='accounts.wallet')),
            ],
            options={
                'indexes': [models.Index(fields=['wallet', 'last_sequence'], name='accounts_ledgerday_in_order')],
                'constraints': [models.UniqueConstraint(fields=('wallet', 'day', 'key_id'), name='accounts_ledgerday_one_row_per_key')],
            },
        ),
    ]
